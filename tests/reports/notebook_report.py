"""A frozen notebook with a cell of each kind, written by hand: what exports are tested on."""

from typing import Any

import plotly.graph_objects as go

from reports.canonical import content_hash
from reports.figures import freeze_figure
from reports.freeze import FrozenReport, section_defaults
from tests.reports.samples import HOSTILE, NOW, sample_report

ROWS = [{"run": "a", "usd": 10.5}, {"run": "b", "usd": 4.0}, {"run": HOSTILE, "usd": None}]
DEAR_SQL = "SELECT run, usd FROM spend_rows WHERE usd > $least ORDER BY usd"
GPU_SQL = "SELECT count(*) AS n FROM gpu_samples"
TEXT = "# Words\n\n<script>window.__pwn=3</script> and *more*\n\n```sql\nSELECT 1 < 2 AND '<b>'\n```\n"


def bars() -> dict[str, Any]:
    """Two traces: numbers packed by Plotly, and texts, error bars and rows of several types."""
    fig = go.Figure(
        [
            go.Bar(x=["a", "b"], y=[10.5, 4.0], customdata=[["x", 1], ["y", None]], name=HOSTILE),
            go.Scatter(x=list(range(50)), y=[n / 7 for n in range(50)], error_y={"array": [0.5] * 50}),
            go.Heatmap(z=[[1.0, 2.0, None], [4.0, 5.5, 6.0]], x=["p", "q", "r"], y=["u", "v"]),
        ]
    )
    fig.update_layout(title_text="Bars", meta={"alt": "Bars, a line and a grid."})
    return freeze_figure("bars", "", fig, fig).to_dict()


def notebook_report() -> FrozenReport:
    """Text, a parameter, an analysis, SQL that can run again, SQL that cannot, a chart."""
    spend = sample_report().sections[0] | {
        "kind": "analysis",
        "name": "spend",
        "tables": {"rows": ROWS},
        "columns": {"rows": ["run", "usd"]},
    }
    cells: list[dict[str, Any]] = [
        {"kind": "text", "text": TEXT},
        {
            "kind": "parameter",
            "name": "least",
            "title": "Least spend",
            "parameters": {"least": 5.0},
            "cell": {"input": "slider", "low": 0.0, "high": 100.0, "unit": "USD"},
        },
        {**spend, "figures": [bars()]},
        {
            "kind": "sql",
            "name": "dear",
            "sql": DEAR_SQL,
            "tables": {"dear": ROWS[:1]},
            "columns": {"dear": ["run", "usd"]},
            "rows": {"scanned": 3, "returned": 1, "cut": False},
        },
        {
            "kind": "sql",
            "name": "samples",
            "sql": GPU_SQL,
            "tables": {"samples": [{"n": 12}]},
            "columns": {"samples": ["n"]},
            "rows": {"scanned": 12, "returned": 1, "cut": False},
        },
    ]
    payload = {**sample_report().payload, "kind": "notebook", "title": "A plan"}
    payload["sections"] = [{**section_defaults(), **cell} for cell in cells]
    return FrozenReport(content_hash(payload), NOW, payload)
