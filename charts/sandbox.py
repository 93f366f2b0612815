"""What a call of an environment or sandbox waits for and works on."""

import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.blocks import has
from charts.synthetic import marked
from charts.theme import Mode

PARTS = {"queued": "Waiting for a slot", "cold": "Cold start", "busy": "Working"}
PHASES = {"queued": "other", "cold": "weight_sync", "busy": "env"}
MOST_ENVS = 12


@marked
def sandbox(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw seconds of a call by environment: bars are medians, whiskers reach to the 95th percentile."""
    title = "Sandbox calls by environment, in seconds"
    frame = result.tables.get("sandbox")
    if frame is None or not any(has(frame, f"{part}_p50_s") for part in PARTS):
        why = "No file holds sandbox calls: upload them with the env_events template."
        return theme.empty(why, title=title, table="sandbox", mode=mode)
    rows = frame.sort_values(["calls", "env"], ascending=[False, True], kind="stable").head(MOST_ENVS)
    names = [theme.short(str(env), 24) for env in rows["env"]]
    fig = go.Figure()
    for part, label in PARTS.items():
        if not has(rows, f"{part}_p50_s"):
            continue
        half, most = rows[f"{part}_p50_s"], rows[f"{part}_p95_s"]
        whisker = {"type": "data", "symmetric": False, "array": most - half, "arrayminus": 0 * half}
        fig.add_trace(
            go.Bar(
                y=names, x=half, orientation="h", name=label, customdata=most,
                marker={"color": theme.phase_colour(PHASES[part], mode)},
                error_x={**whisker, "thickness": 1.5, "width": 4, "color": theme.palette(mode).quiet},
                hovertemplate=f"{label}: median %{{x:.3g}} s, p95 %{{customdata:.3g}} s<extra></extra>",
            )
        )  # fmt: skip
    left_out = len(frame) - len(rows)
    theme.apply(
        fig,
        title=title,
        subtitle="bars: median call; whiskers: to the 95th percentile"
        + (f"; {left_out} more in the table" if left_out else ""),
        alt=f"Median seconds of a sandbox call, waiting, starting and working, for {', '.join(names)}.",
        table="sandbox",
        mode=mode,
        x="Seconds a call",
        height=140 + 70 * len(rows),
    )
    fig.update_layout(barmode="group")
    return fig.update_yaxes(autorange="reversed").update_xaxes(rangemode="tozero")
