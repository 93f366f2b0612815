"""Shapes that several figures share: stacked phases, one line a run, intervals, fans, heat maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.theme import MAX_COLOURED_RUNS, MAX_POINTS, Mode

MOST_WHISKERED_RUNS = MAX_COLOURED_RUNS


def has(frame: pd.DataFrame | None, *columns: str) -> bool:
    """Say whether a table is there, has these columns, and at least one row with all of them known."""
    if frame is None or frame.empty or any(c not in frame.columns for c in columns):
        return False
    return bool(frame[list(columns)].notna().all(axis=1).any()) if columns else True


def colours_of(result: Result, mode: Mode) -> dict[str, str]:
    """Return {run: colour} for every run of the home, and for the runs of a result that names no home."""
    shown = {str(r) for t in result.tables.values() if "run" in t.columns for r in t["run"].dropna()}
    return theme.run_colours([*result.home_runs, *sorted(shown)], mode)


def thinned(frame: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return at most about `limit` rows, evenly spaced, first and last kept."""
    stride = theme.thin(len(frame), limit)
    if stride == 1:
        return frame
    rows = list(range(0, len(frame), stride))
    if rows[-1] != len(frame) - 1:
        rows.append(len(frame) - 1)
    return frame.iloc[rows]


def run_lines(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    hover: str,
    mode: Mode,
    colours: Mapping[str, str] | None = None,
    by: str = "run",
    markers: bool = True,
    order: Sequence[str] | None = None,
) -> list[go.Scatter]:
    """Return one line a run; the first eight of `order` are coloured, the rest grey and named on hover."""
    data = frame.dropna(subset=[x, y])
    names = [n for n in (order or list(dict.fromkeys(data[by]))) if n in set(data[by])]
    coloured = names[:MAX_COLOURED_RUNS]
    styles = theme.run_styles(names, mode, colours)
    limit = max(2, MAX_POINTS // max(1, len(names)))
    grey = theme.palette(mode).grey
    traces = []
    for name in [*names[MAX_COLOURED_RUNS:], *coloured]:
        part = thinned(data[data[by] == name].sort_values(x, kind="stable"), limit)
        style = styles[name]
        colour = style["colour"] if name in coloured else grey
        traces.append(
            go.Scatter(
                x=part[x],
                y=part[y],
                name=theme.short(name),
                legendgroup=name,
                mode="lines+markers" if markers and len(part) <= 200 else "lines",
                line={"color": colour, "width": style["width"], "dash": style["dash"]},
                marker={"color": colour, "symbol": style["symbol"], "size": 7},
                showlegend=name in coloured,
                hovertemplate=f"<b>{theme.escape(name)}</b><br>{hover}<extra></extra>",
            )
        )
    return traces


def band(
    x: Sequence[Any], low: Sequence[Any], high: Sequence[Any], colour: str, name: str, half: Any = None
) -> list[go.Scatter]:
    """Return a filled band between `low` and `high`: one closed outline for each piece without a gap.

    The outline runs along `high` and back along `low`. `half` is half a bin: with it a piece reaches from the
    start of its first bin to the end of its last. The pieces share one legend entry.
    """
    frame = pd.DataFrame({"x": list(x), "low": list(low), "high": list(high)})
    known = frame[["low", "high"]].notna().all(axis=1)
    traces = []
    for _, piece in frame[known].groupby((~known).cumsum()[known]):
        ends = [piece] if half is None else _widened(piece, half)
        side = pd.concat(ends, ignore_index=True)
        back = side.iloc[::-1]
        traces.append(
            go.Scatter(
                x=[*side["x"], *back["x"]],
                y=[*side["high"], *back["low"]],
                mode="lines",
                line={"width": 0, "color": colour},
                fill="toself",
                fillcolor=theme.fade(colour, 0.18),
                name=name,
                legendgroup=name,
                showlegend=not traces,
                hoverinfo="skip",
            )
        )
    return traces


def _widened(piece: pd.DataFrame, half: Any) -> list[pd.DataFrame]:
    first, last = piece.iloc[[0]], piece.iloc[[-1]]
    return [first.assign(x=first["x"] - half), piece, last.assign(x=last["x"] + half)]


def error_bars(value: pd.Series, low: pd.Series, high: pd.Series, colour: str) -> dict[str, Any]:
    """Return asymmetric whiskers from the ends of an interval; unknown ends draw none."""
    up = (high - value).clip(lower=0).fillna(0)
    down = (value - low).clip(lower=0).fillna(0)
    return {
        "type": "data",
        "symmetric": False,
        "array": up,
        "arrayminus": down,
        "color": colour,
        "thickness": 1.5,
        "width": 5,
    }


def score_scale(frame: pd.DataFrame) -> float:
    """Return 100 when every score is a fraction of tasks (shown in percent), else 1."""
    return 100.0 if "kind" not in frame.columns or (frame["kind"] == "fraction").all() else 1.0


def score_axis(frame: pd.DataFrame) -> tuple[str, str]:
    """Return the vertical axis title with its unit, and a subtitle with the number of tasks."""
    names = [str(b) for b in dict.fromkeys(frame.get("benchmark", pd.Series(dtype=object)).dropna())]
    unit = "%" if score_scale(frame) == 100 else "score units"
    where = f" on {theme.short(names[0], 24)}" if len(names) == 1 else ""
    tasks = [f"{n:,.0f}" for n in sorted(frame.get("n", pd.Series(dtype=float)).dropna().unique())]
    detail = f"{' or '.join(tasks[:2])} tasks" if tasks else "number of tasks not known"
    if frame.get("key", pd.Series(dtype=object)).nunique() > 1:
        detail += "; runs were evaluated with different settings"
    return f"Score{where} ({unit})", detail


def score_figure(
    frame: pd.DataFrame, mode: Mode, *, x_hover: str, colours: Mapping[str, str] | None = None
) -> tuple[go.Figure, str, str]:
    """Return the lines of scores with their intervals, the vertical axis title, and the subtitle.

    Whiskers are left out where lines are too many or too long to tell them apart; the subtitle says which.
    """
    few = frame.dropna(subset=["x", "score"])["run"].nunique() <= MOST_WHISKERED_RUNS
    known = has(frame, "score", "low", "high")
    lines = score_lines(frame, mode, x_hover=x_hover, whiskers=few and known, colours=colours)
    fig = go.Figure(lines)
    label, subtitle = score_axis(frame)
    if any(trace.error_y.array is not None for trace in fig.data):
        subtitle += "; whiskers: 95 % interval of each score, its tasks as if independent"
    elif known:
        subtitle += "; too many points to draw their 95 % intervals"
    return fig, label, subtitle


def score_lines(
    frame: pd.DataFrame,
    mode: Mode,
    *,
    x_hover: str,
    whiskers: bool = False,
    colours: Mapping[str, str] | None = None,
) -> list[go.Scatter]:
    """Return one line of scores a run; `frame` has run, x, score and may have low, high, kind."""
    scale = score_scale(frame)
    data = frame.dropna(subset=["x", "score"]).copy()
    for name in ("score", "low", "high"):
        if name in data.columns:
            data[name] = scale * data[name].astype("float64")
    best = data.groupby("run")["score"].max().sort_values(ascending=False, kind="stable")
    suffix = " %" if scale == 100 else ""
    traces = run_lines(
        data,
        x="x",
        y="score",
        hover=f"{x_hover}<br>score %{{y:.1f}}{suffix}",
        mode=mode,
        colours=colours,
        order=list(best.index),
    )
    if whiskers and "low" in data.columns:
        for trace in traces:
            part = data[data["run"] == trace.legendgroup].sort_values("x", kind="stable")
            if len(part) == len(trace.x):
                trace.error_y = {
                    **error_bars(
                        part["score"], part["low"], part["high"], theme.fade(trace.line.color, 0.45)
                    ),
                    "width": 3,
                    "thickness": 1.2,
                }
    return traces
