"""An invoice and what explains it: dollars by how lines were matched, by day, and the way to the invoice."""

from textwrap import wrap

import pandas as pd
import plotly.graph_objects as go

from analysis.parts import WHY
from analysis.reconciliation import usd_words
from analysis.result import Result
from analysis.words import plural
from charts import theme
from charts.blocks import has
from charts.named_bars import AROUND_PX, BAR_WIDTH, bar, dressed
from charts.synthetic import marked
from charts.theme import Mode

HOW = {
    "tag": "By tag",
    "booked": "Booked by hand",
    "resource": "By machine",
    "job": "By scheduler job",
    "time": "By GPU model and time",
}
REASONS = {
    "idle": {
        "unused": "Unused commitments",
        "reserved": "Reserved capacity that stood empty",
        "idle_capacity": "Idle capacity",
        "idle": "Parts of nodes that nobody held",
        "nobody": "Nodes that nobody held",
    },
    "open": {
        "idle": "Parts of nodes, holder not known",
        "nobody": "Nodes, holder not known",
        "short": "More held than bought",
        "loose": "Holder not certain",
        "no_gpu": "No GPU line, no tag",
        "no_quantity": "No quantity on the bill",
        "no_clock": "No time on the bill",
        "tax": "Tax",
        "purchase": "Purchases",
    },
    "credits": {"credits": "Credits"},
}
"""Group -> reason (analysis.parts.WHY) -> name of its bar; no two bars share a name."""
NAMES = {(group, WHY[key]): name for group, names in REASONS.items() for key, name in names.items()}
GROUPS = {
    "matched": "matched to a run or job",
    "idle": "held by nobody",
    "open": "not explained",
    "credits": "credits",
}
IDLE_NOTE = "held by nobody: paid and idle, borne by nobody"
FEW_DAYS = 7
"""Up to here every day has its mark: fewer marks than that fall between days, on hours."""
REST = "matched to no run or job: idle, or not explained"


@marked
def explained(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the effective cost by who bears it: matched, held by nobody, not explained (hatched), credits."""
    frame = result.tables.get("by_how")
    title = "The bill by what explains it, in dollars"
    if not has(frame, "how", "usd"):
        return theme.empty(result.answer, title=title, table="by_how", mode=mode)
    data = bars_of(frame)
    fig = go.Figure()
    for group, name in GROUPS.items():
        part = data[data["group"] == group]
        if len(part):
            hover = [_told(row) for row in part.itertuples()]
            fig.add_trace(bar(part["usd"], part.index, hover, _marker(group, mode), name))
    dressed(
        fig,
        [_label(row) for row in data.itertuples()],
        title=title,
        note=IDLE_NOTE if (data["group"] == "idle").any() else "",
        alt="Bars: " + ", ".join(f"{bar_name(row)} {usd_words(row.usd)}" for row in data.itertuples()) + ".",
        table="by_how",
        mode=mode,
        zero=bool((data["usd"] < 0).any()),
        legend=True,
    )
    return fig


def bars_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of `by_how` in the order of the bars: matched, idle, open, credits; none without dollars.

    A report frozen before groups were known shows what is matched and what is not.
    """
    if "group" not in frame:
        frame = frame.assign(group=frame["how"].map(lambda how: "open" if how == "none" else "matched"))
    place = frame["group"].map({name: n for n, name in enumerate(GROUPS)})
    kept = frame.assign(_place=place)[frame["usd"] != 0].sort_values("_place", kind="stable")
    return kept.drop(columns="_place").reset_index(drop=True)


def _marker(group: str, mode: Mode) -> dict[str, object]:
    colours = theme.palette(mode)
    if group == "open":
        return theme.status_marker(colours.quiet, "projected", mode)
    colour = {"matched": colours.good, "credits": colours.accent}.get(group, colours.bad)
    return {"color": colour, "line": {"width": 0}}


def bar_name(row: object) -> str:
    """Name of the bar of one row of `bars_of`."""
    if row.how == "none":
        return NAMES.get((row.group, row.meaning), str(row.meaning))
    return HOW.get(row.how, str(row.how))


def _label(row: object) -> str:
    return f"<b>{theme.short(bar_name(row), 34)}</b> {usd_words(row.usd)} · {_lines(row)}"


def _lines(row: object) -> str:
    return f"{row.lines:,.0f} line{'' if row.lines == 1 else 's'}"


def _told(row: object) -> str:
    hours = f", {row.gpu_hours:,.1f} GPU-h" if row.gpu_hours else ""
    head = f"<b>{theme.escape(bar_name(row))}</b> {usd_words(row.usd)}"
    return f"{head}<br>{_lines(row)}{hours}<br>{theme.escape(row.meaning)}"


@marked
def by_day(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the effective cost of each UTC day, matched and not."""
    frame = result.tables.get("by_day")
    title = "Effective cost by UTC day, in dollars"
    if not has(frame, "day", "effective_usd"):
        return theme.empty(result.answer, title=title, table="by_day", mode=mode)
    data = frame.dropna(subset=["day"]).sort_values("day", kind="stable")
    colours = theme.palette(mode)
    fig = go.Figure()
    for name, column, marker in (
        (GROUPS["matched"], "matched_usd", {"color": colours.good}),
        (REST, "unmatched_usd", theme.status_marker(colours.quiet, "projected", mode)),
    ):
        fig.add_trace(
            go.Bar(
                x=pd.to_datetime(data["day"]),
                y=data[column],
                name=name,
                marker=marker,
                hovertemplate=f"%{{x|%Y-%m-%d}}<br>{name} $%{{y:,.2f}}<extra></extra>",
            )
        )
    rest = len(frame) - len(data)
    theme.apply(
        fig,
        title=title,
        subtitle="lines without a time are not drawn" if rest else "",
        alt=f"Stacked bars of {len(data)} {plural('day', len(data))}, matched and not.",
        table="by_day",
        mode=mode,
        y="effective cost (USD)",
        height=320,
    )
    fig.update_layout(barmode="relative", bargap=0.1)
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS, nticks=5)
    if len(data) <= FEW_DAYS:
        fig.update_xaxes(tickvals=pd.to_datetime(data["day"]), tickformat="%d %b<br>%Y")
    return fig


LABEL_WIDTH, BRIDGE_ROW_PX, ROOM_ABOVE = 44, 66, 0.75


@marked
def bridge(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the way from the invoice (billed) to the effective cost; empty when the two are equal.

    Bars lie, each under its whole label: half a label does not say what a bar is.
    """
    frame = result.tables.get("totals")
    title = "From the invoice to the effective cost, in dollars"
    if not has(frame, "part", "usd") or not (frame["kind"] == "change").any():
        return theme.empty(
            "The invoice and the effective cost are equal.", title=title, table="totals", mode=mode
        )
    data = frame.reset_index(drop=True)
    base = _steps(data)
    fig = go.Figure()
    for place, row in enumerate(data.itertuples()):
        hover = f"{theme.escape(row.label)}<br>{usd_words(row.usd)}"
        one = bar([row.usd], [place], [hover], _step_marker(row, mode), theme.escape(row.label))
        fig.add_trace(one.update(base=[base[place]]))
    dressed(
        fig,
        [_bridge_label(row) for row in data.itertuples()],
        title=title,
        note="",
        alt="Waterfall: " + ", ".join(f"{r.label} {usd_words(r.usd)}" for r in data.itertuples()) + ".",
        table="totals",
        mode=mode,
        zero=bool((data["usd"].cumsum() < 0).any()),
    )
    fig.update_layout(height=AROUND_PX + BRIDGE_ROW_PX * len(data))
    fig.update_yaxes(range=[len(data) - 1 + 0.4, -ROOM_ABOVE])
    for place, note in enumerate(a for a in fig.layout.annotations if a.xref == "paper" and a.x == 0):
        note.update(y=place - BAR_WIDTH / 2, yanchor="bottom", align="left")
    return fig


def _steps(data: pd.DataFrame) -> list[float]:
    """Where each bar begins: totals at 0, a change where the bars before it end."""
    starts, reached = [], 0.0
    for kind, usd in zip(data["kind"], data["usd"], strict=True):
        starts.append(0.0 if kind == "total" else reached)
        reached = starts[-1] + float(usd)
    return starts


def _step_marker(row: object, mode: Mode) -> dict[str, object]:
    colours = theme.palette(mode)
    change = colours.bad if row.usd > 0 else colours.good
    return {"color": colours.accent if row.kind == "total" else change, "line": {"width": 0}}


def _bridge_label(row: object) -> str:
    """The whole label and the amount, on as many lines as a phone needs."""
    lines = [theme.escape(line) for line in wrap(str(row.label), LABEL_WIDTH)]
    return f"<b>{'<br>'.join(lines)}</b> {usd_words(row.usd)}"
