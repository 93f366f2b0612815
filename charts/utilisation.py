"""What the GPUs did while they were paid for: a map of GPU against time, a timeline."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.measures import MEASURES
from analysis.result import Result
from charts import theme
from charts.blocks import band, has
from charts.synthetic import marked
from charts.theme import Mode

BELOW_MAP_PX, SCALE_BELOW_PX = 130, 62
"""Room under the map, and how far below the map its colour scale begins."""


def measure_label(result: Result) -> str:
    """Return the name of the measure that a result shows."""
    known = MEASURES.get(str(result.params.get("measure", "")))
    return known.label if known else "Utilisation"


@marked
def heat(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one row a GPU (a host when there are many), grouped by host and role, time to the right."""
    label = measure_label(result)
    title = f"{label} by GPU and time, in percent"
    frame = result.tables.get("heat")
    if not has(frame, "gpu", "bin", "value"):
        return theme.empty(_no_samples(result), title=title, table="heat", mode=mode)
    rows = frame.drop_duplicates("gpu").reset_index(drop=True)
    fig = go.Figure(_map(frame, rows, label, theme.palette(mode).scale))
    minutes = int(frame["bin_minutes"].iloc[0])
    theme.apply(
        fig,
        title=title,
        subtitle=f"time-weighted means of {minutes} min; a gap has no sample",
        alt=f"Heat map of {label}, {len(rows)} rows; least mean {100 * frame['value'].min():.3g} percent.",
        table="heat",
        mode=mode,
        x="Time (UTC)",
        height=max(190, 120 + min(22 * len(rows), 760)),
    )
    fig.update_layout(margin_b=BELOW_MAP_PX, height=fig.layout.height + BELOW_MAP_PX - theme.AXIS_PX)
    plot = fig.layout.height - fig.layout.margin.t - BELOW_MAP_PX
    fig.update_traces(colorbar_y=-SCALE_BELOW_PX / plot)
    _row_names(fig, rows, mode)
    return fig


def _map(frame: pd.DataFrame, rows: pd.DataFrame, label: str, scale: tuple[str, ...]) -> go.Heatmap:
    bins, width = _bins(frame)
    columns = ("value", "v_min", "v_max", "coverage_frac")
    grid = {c: _grid(frame, rows, c).reindex(columns=bins) for c in columns}
    ends = [grid[c].to_numpy() for c in ("v_min", "v_max", "coverage_frac")]
    when = _spans(bins, width)
    facts = [
        [[t, _cell(*cell)] for t, *cell in zip(when, *line, strict=True)] for line in zip(*ends, strict=True)
    ]
    return go.Heatmap(
        x=[*bins, bins[-1] + width],
        y=list(range(len(rows))),
        z=(100 * grid["value"]).to_numpy(),
        zmin=0,
        zmax=100,
        colorscale=[[i / (len(scale) - 1), c] for i, c in enumerate(scale)],
        hoverongaps=False,
        customdata=facts,
        text=[[theme.escape(g)] * grid["value"].shape[1] for g in rows["gpu"]],
        hovertemplate=(
            "<b>%{text}</b><br>%{customdata[0]}<br>mean %{z:.3g} %<br>%{customdata[1]}<extra></extra>"
        ),
        colorbar={
            "title": {"text": f"{label} (%)", "side": "top", "font": {"size": 12}},
            "orientation": "h",
            "thickness": 10,
            "len": 0.5,
            "x": 0,
            "xanchor": "left",
            "yanchor": "top",
            "ypad": 0,
            "ticksuffix": " %",
            "nticks": 3,
        },
    )


def _grid(frame: pd.DataFrame, rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.pivot_table(index="gpu", columns="bin", values=column, dropna=False).reindex(rows["gpu"])


def _bins(frame: pd.DataFrame) -> tuple[pd.DatetimeIndex, pd.Timedelta]:
    """Return the start of every bin from the first to the last, those without a sample too, and their width.

    Left out, a bin without a row would be painted over by its neighbours.
    """
    width = pd.Timedelta(minutes=int(frame["bin_minutes"].iloc[0]))
    bins = pd.date_range(frame["bin"].min(), frame["bin"].max(), freq=width)
    return bins.union(pd.DatetimeIndex(frame["bin"].unique())), width


def _spans(bins: pd.DatetimeIndex, width: pd.Timedelta) -> list[str]:
    return [f"{b:%d %b %H:%M}–{b + width:%H:%M} UTC" for b in bins]


def _cell(low: float, high: float, coverage: float) -> str:
    if pd.isna(low):
        return ""
    known = f", {100 * coverage:.0f} % of the time sampled" if pd.notna(coverage) else ""
    return f"{100 * low:.3g} to {100 * high:.3g} %{known}"


def _row_names(fig: go.Figure, rows: pd.DataFrame, mode: Mode) -> None:
    """Name each group of host and role once, and draw a line between groups."""
    names, last = [], None
    for place, row in enumerate(rows.itertuples()):
        group = " · ".join(theme.short(v, 14) for v in (row.host, row.role) if v)
        tail = theme.short(str(row.gpu).rsplit(":", 1)[-1], 10)
        names.append(f"{group} · {tail}" if group and group != last else tail)
        if last is not None and group != last:
            fig.add_hline(y=place - 0.5, line={"color": theme.palette(mode).axis, "width": 1})
        last = group
    stride = max(1, len(names) // 34)
    fig.update_yaxes(
        tickvals=list(range(0, len(names), stride)),
        ticktext=names[::stride],
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )


@marked
def timeline(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the mean over all GPUs with least and most, and below it how much of the time was sampled."""
    label = measure_label(result)
    title = f"{label} over time, all GPUs, in percent"
    frame = result.tables.get("timeline")
    if not has(frame, "bin", "value"):
        return theme.empty(_no_samples(result), title=title, table="timeline", mode=mode)
    colours = theme.palette(mode)
    fig = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.76, 0.24], vertical_spacing=0.08)
    bins, width = _bins(frame)
    data = (
        frame.set_index("bin")
        .reindex(bins)
        .assign(middle=bins + width / 2, width_ms=width.total_seconds() * 1000, when=_spans(bins, width))
    )
    ends = data["middle"], 100 * data["v_min"], 100 * data["v_max"]
    for trace in band(*ends, colours.accent, "least to most of any GPU", half=width / 2):
        fig.add_trace(trace, row=1, col=1)
    fig.add_trace(_mean_line(data, colours.accent), row=1, col=1)
    fig.add_trace(_coverage_bars(data, colours.quiet), row=2, col=1)
    theme.apply(
        fig,
        title=title,
        subtitle=f"time-weighted means of {int(frame['bin_minutes'].iloc[0])} min",
        alt=f"{label} over time with its least and most, and the share of the time that was sampled.",
        table="timeline",
        mode=mode,
        height=380,
    )
    fig.update_layout(bargap=0)
    fig.update_yaxes(title_text=f"{label.split(' (')[0]} (%)", range=[0, 104], row=1, col=1)
    fig.update_yaxes(title_text="Sampled (%)", range=[0, 104], nticks=3, row=2, col=1)
    fig.update_xaxes(title_text="Time (UTC)", row=2, col=1)
    return fig


def _mean_line(frame: pd.DataFrame, colour: str) -> go.Scatter:
    known = frame["value"].notna()
    alone = known & ~known.shift(fill_value=False) & ~known.shift(-1, fill_value=False)
    return go.Scatter(
        x=frame["middle"],
        y=100 * frame["value"],
        mode="lines+markers",
        marker={"color": colour, "size": [5 if a else 0 for a in alone], "line": {"width": 0}},
        name="mean",
        line={"color": colour, "width": 2},
        customdata=frame[["when", "gpus"]],
        connectgaps=False,
        hovertemplate="%{customdata[0]}<br>mean %{y:.3g} %, %{customdata[1]} GPUs<extra></extra>",
    )


def _coverage_bars(frame: pd.DataFrame, colour: str) -> go.Bar:
    return go.Bar(
        x=frame["middle"],
        y=100 * frame["coverage_frac"],
        width=frame["width_ms"],
        customdata=frame["when"],
        name="sampled",
        marker={"color": colour},
        showlegend=False,
        hovertemplate="%{customdata}<br>%{y:.3g} % of the time sampled<extra></extra>",
    )


def _no_samples(result: Result) -> str:
    return result.answer or "No GPU samples are loaded: upload an nvidia-smi or gpu_samples file."
