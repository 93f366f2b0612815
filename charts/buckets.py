"""What the money of each run was spent on: one stacked bar a run, in dollars."""

import plotly.graph_objects as go

from analysis.buckets import BUCKETS, PRODUCTIVE
from analysis.result import Result
from analysis.words import percent
from charts import theme
from charts.axes import usd
from charts.blocks import has
from charts.synthetic import marked
from charts.theme import Mode

MOST = 24
LIKE = {
    "train": "train", "generate": "rollout", "refit": "weight_sync", "validation": "eval", "sandbox": "env",
    "other_phases": "checkpoint", "unattributed": "unattributed", "held_outside_steps": "outside_steps",
    "booked": "other",
}  # fmt: skip
"""The phase whose colour a bucket has on the other pages."""


@marked
def buckets(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars by run and bucket; what survived as training or generation first."""
    title = "Dollars by bucket"
    frame = result.tables.get("buckets")
    if not has(frame, "run", "bucket", "usd"):
        why = result.answer or "No run has dollars to split."
        return theme.empty(why, title=title, table="buckets", mode=mode)
    runs = list(dict.fromkeys(frame["run"]))[:MOST]
    data = frame[frame["run"].isin(runs)]
    fig = go.Figure()
    for bucket in (*PRODUCTIVE, *(name for name in BUCKETS if name not in PRODUCTIVE)):
        part = data[data["bucket"] == bucket]
        if part.empty:
            continue
        shares = [percent(frac) for frac in part["frac"]]
        fig.add_trace(
            go.Bar(
                x=list(part["usd"]), y=list(part["run"]), orientation="h", name=BUCKETS[bucket],
                marker=_marker(bucket, mode),
                customdata=[[theme.escape(r), s] for r, s in zip(part["run"], shares, strict=True)],
                hovertemplate="<b>%{customdata[0]}</b><br>%{x:$,.3~r}, %{customdata[1]}"
                "<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    theme.apply(
        fig, title=title, subtitle="the buckets of a run add up to its spend",
        alt=f"Stacked bars of dollars by bucket for {len(runs)} runs.", table="buckets", mode=mode,
        x="Spend (USD)", height=96 + 40 * len(runs),
    )  # fmt: skip
    fig.update_layout(barmode="relative", bargap=0.35)
    usd(fig)
    fig.update_yaxes(
        categoryorder="array", categoryarray=runs[::-1], tickvals=runs,
        ticktext=[theme.short(r, 20) for r in runs], showgrid=False,
    )  # fmt: skip
    return fig


def _marker(bucket: str, mode: Mode) -> dict[str, object]:
    colours = theme.palette(mode)
    if bucket in LIKE:
        return theme.phase_marker(LIKE[bucket], mode)
    return {"color": {"failed": colours.bad, "starvation": colours.quiet}.get(bucket, colours.grey)}
