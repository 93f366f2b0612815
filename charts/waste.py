"""From the bill to productive work: the ladder, the waterfall, and the phases of a run over time."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.result import Result
from analysis.words import listing, percent3
from charts import theme
from charts.blocks import has
from charts.named_bars import bar, dollars, dressed
from charts.synthetic import marked
from charts.text import short_number
from charts.theme import Mode

OTHER = "Other charges and credits"
RUNGS = {"paid": "Paid", "allocated": "Allocated", "active": "Active", "effective": "Effective"}
BARS = {
    "bill": "The bill",
    "other": OTHER,
    "not_allocated": "Not allocated",
    "idle": "Idle",
    "stalled": "Stalled",
    "unknown": "Unknown",
    "bubble": "Waiting for the other pool",
    "lost": "Lost to failures",
    "productive": "Productive work",
}

CENT = 0.01
NOTES = {
    "not_allocated": "not allocated: held by nobody",
    "idle": "idle: held, not used",
    "unknown": "hatched: nobody knows what became of it",
}
"""What has to be said of a bar that holds dollars."""


@marked
def ladder(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw paid, allocated, active and effective dollars; what may belong to a rung is hatched."""
    frame = result.tables.get("ladder")
    title = "From paid to effective, in dollars"
    if not has(frame, "rung", "usd"):
        return theme.empty(_why(result), title=title, table="ladder", mode=mode)
    data = frame.reset_index(drop=True)
    colours = theme.palette(mode)
    shades = [colours.axis, colours.quiet, colours.accent, colours.good]
    names = [_rung_label(row) for row in data.itertuples()]
    hover = [
        f"<b>{RUNGS.get(r.rung, r.rung)}</b> {_range(r)}<br>{theme.escape(r.basis)}"
        for r in data.itertuples()
    ]
    fig = go.Figure(bar(data["usd"], data.index, hover, {"color": shades[: len(data)]}, "known"))
    loose = data[data["usd_high"] > data["usd"]]
    if len(loose):
        marker = theme.status_marker(colours.quiet, "projected", mode)
        told = [hover[place] for place in loose.index]
        hatched = bar(loose["usd_high"] - loose["usd"], loose.index, told, marker, "unknown")
        fig.add_trace(hatched.update(base=loose["usd"]))
    told = ", ".join(f"{RUNGS.get(r.rung, r.rung)} {dollars(r.usd)}" for r in data.itertuples())
    note = f"percent of paid, {dollars(data['usd'].iloc[0])} of GPU charges"
    note += "; hatched: not known whether it belongs there" if len(loose) else ""
    return dressed(fig, names, title=title, note=note, alt=f"Ladder: {told}.", table="ladder", mode=mode)


def _rung_label(row: object) -> str:
    share = f" · {percent3(row.frac)} of paid" if pd.notna(row.frac) else ""
    hours = f" · {short_number(row.gpu_hours)} GPU-h" if pd.notna(row.gpu_hours) else ""
    return f"<b>{RUNGS.get(row.rung, row.rung)}</b> {dollars(row.usd)}{share}{hours}"


def _range(row: object) -> str:
    if row.usd_low == row.usd_high:
        return dollars(row.usd)
    return f"{dollars(row.usd)} ({dollars(row.usd_low)} to {dollars(row.usd_high)})"


@marked
def waterfall(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw what is taken from the bill, bar by bar, until productive work is left; unknown is hatched."""
    frame = result.tables.get("waterfall")
    title = "From the bill to productive work, in dollars"
    if not has(frame, "bar", "usd"):
        return theme.empty(_why(result), title=title, table="waterfall", mode=mode)
    data = frame.reset_index(drop=True)
    fig = go.Figure()
    for place, row in data.iterrows():
        marker = _marker(str(row["bar"]), mode)
        start = 0.0 if row["kind"] == "total" else row["top_usd"] - row["usd"]
        trace = bar([row["usd"]], [place], [_told(row)], marker, BARS.get(row["bar"], row["bar"]))
        fig.add_trace(trace.update(base=[start], showlegend=False))
    names = [_bar_label(row) for row in data.itertuples()]
    told = ", ".join(f"{BARS.get(r.bar, r.bar)} {_signed(r)}" for r in data.itertuples())
    told_of = [text for name, text in NOTES.items() if (data.loc[data["bar"] == name, "usd"] != 0).any()]
    note = "; ".join([*_base(data), *told_of])
    alt = f"Waterfall: {told}."
    return dressed(
        fig,
        names,
        title=title,
        note=note,
        alt=alt,
        table="waterfall",
        mode=mode,
        zero=bool((data["usd"] < 0).any()),
    )


def _base(data: pd.DataFrame) -> list[str]:
    """What the percentages are of: the charges, which are the bill before its credits."""
    shares = data.dropna(subset=["frac"])
    shares = shares[shares["frac"] != 0]
    if shares.empty:
        return []
    row = shares.loc[shares["frac"].abs().idxmax()]
    whole = round(row["usd"] / row["frac"], 2)
    before = " before credits" if (data.loc[data["bar"] == "bill", "usd"].round(2) != whole).any() else ""
    return [f"percent of {dollars(whole)} of charges{before}"]


def _signed(row: object) -> str:
    """What a bar takes off (−) or adds (+), as it is drawn; a total has no sign."""
    sign = "−" if row.kind == "minus" and row.usd > 0 else "+" if row.kind == "minus" and row.usd < 0 else ""
    return f"{sign}{dollars(abs(row.usd))}"


def _bar_label(row: object) -> str:
    share = f" · {percent3(row.frac)} of charges" if pd.notna(row.frac) and row.bar != "bill" else ""
    most = getattr(row, "usd_high", row.usd)
    open_to = f" (up to {dollars(most)})" if row.bar == "lost" and most - row.usd >= CENT else ""
    return f"<b>{BARS.get(row.bar, row.bar)}</b> {_signed(row)}{share}{open_to}"


def _told(row: pd.Series) -> str:
    lines = [f"<b>{BARS.get(row['bar'], row['bar'])}</b> {_signed(row)}"]
    if isinstance(row["detail"], str) and row["detail"]:
        lines.append(theme.escape(row["detail"]))
    if len(row["runs"]):
        lines.append(theme.escape(listing(list(row["runs"]))))
    return "<br>".join(lines)


def _marker(name: str, mode: Mode) -> dict[str, object]:
    colours = theme.palette(mode)
    if name == "unknown":
        return theme.status_marker(colours.quiet, "projected", mode)
    shades = {"bill": colours.axis, "other": colours.grey, "productive": colours.good}
    shades |= dict.fromkeys(("not_allocated", "idle", "stalled"), colours.bad)
    return {"color": shades.get(name, colours.accent), "line": {"width": 0}}


def _why(result: Result) -> str:
    return result.answer or "No bill, no allocation and no GPU samples are loaded."


@marked
def track(result: Result, mode: Mode = "light", over: pd.DataFrame | None = None) -> go.Figure:
    """Draw the phases of the picked run over time, a lane a pool: the share of each stretch of steps.

    `over`: a timeline (bin, bin_minutes) under which the figure is to stand, with the same time axis.
    """
    frame = result.tables.get("track")
    title = "Phases of the run over time, in percent of the step"
    if not has(frame, "start", "phase", "frac"):
        why = next((w.text for w in result.warnings if w.code == "no_track"), "No run is chosen.")
        return theme.empty(why, title=title, table="track", mode=mode)
    pools = sorted(frame["pool"].unique())
    fig = make_subplots(
        rows=len(pools), cols=1, shared_xaxes=True, vertical_spacing=0.12 if len(pools) > 1 else 0,
        subplot_titles=[f"pool {theme.short(p)}" if p else "" for p in pools] if len(pools) > 1 else None,
    )  # fmt: skip
    shown: set[str] = set()
    for lane, pool in enumerate(pools, 1):
        mine = frame[frame["pool"] == pool]
        for phase in theme.ordered_phases(mine["phase"]):
            fig.add_trace(
                _phase(mine[mine["phase"] == phase], phase, phase not in shown, mode), row=lane, col=1
            )
            shown.add(phase)
    if len(pools) > 1:
        theme.name_panels(fig, mode)
    theme.apply(
        fig, title=title, subtitle="each bar is a stretch of steps on the clock of the pool",
        alt=f"Phases over time for {len(pools)} pools.", table="track", mode=mode,
        height=150 + 110 * len(pools),
    )  # fmt: skip
    fig.update_layout(barmode="stack", bargap=0)
    fig.update_yaxes(range=[0, 100], nticks=3, ticksuffix=" %")
    fig.update_xaxes(title_text="Time (UTC)", row=len(pools), col=1)
    if has(over, "bin", "bin_minutes"):
        width = pd.Timedelta(minutes=int(over["bin_minutes"].iloc[0]))
        fig.update_xaxes(range=[over["bin"].min(), over["bin"].max() + width])
    return fig


def _phase(part: pd.DataFrame, phase: str, legend: bool, mode: Mode) -> go.Bar:
    length = part["end"] - part["start"]
    return go.Bar(
        x=part["start"] + length / 2,
        y=100 * part["frac"],
        width=length.dt.total_seconds() * 1000,
        name=theme.phase_label(phase),
        legendgroup=phase,
        showlegend=legend,
        marker=theme.phase_marker(phase, mode),
        customdata=part[["step_first", "step_last"]],
        hovertemplate=(
            "steps %{customdata[0]} to %{customdata[1]}<br>%{y:.3g} %<extra>%{fullData.name}</extra>"
        ),
    )
