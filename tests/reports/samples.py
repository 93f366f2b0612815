"""A result as an analysis returns it, with names that try to break out of every place they are shown in."""

from datetime import UTC, datetime

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Assumption, Figure, Notice, Result
from reports.figures import FrozenFigure, freeze_figure
from reports.freeze import FrozenReport, freeze

HOSTILE = "<img src=x onerror='window.__pwn=1'>\"'</script><script>window.__pwn=2</script>"
FORMULA = "=cmd|'/c calc'!A1"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def sample_result() -> Result:
    """An answer with dollars, names, gaps and hostile texts."""
    return Result(
        analysis="ledger",
        params={"runs": ("a", HOSTILE), "price": "reserved_3y.neocloud"},
        answer=f"Campaign {HOSTILE} cost $41.2k and gained 5.9 ± 1.8 points: $7.0k per point.",
        headline=(
            Figure(
                "spend",
                "Spend",
                41_234.5,
                "usd",
                30_000,
                52_000,
                "quote_range",
                3,
                "campaign",
                "gpu_h × price",
            ),
            Figure("gain", "Gain", 5.9, "points", 4.1, 7.7, "ci95", n=500),
            Figure("goodput", "Goodput", None, "frac", missing="No step times. Load a step log."),
        ),
        tables={
            "runs": pd.DataFrame(
                {
                    "run": [HOSTILE, FORMULA],
                    "host": ["node-17.corp", None],
                    "usd": [41_234.5, None],
                    "gpu_h": [-1.5, 12_345.678],
                    "steps": [100, 7],
                }
            ),
            "empty": pd.DataFrame({"step": pd.Series(dtype="int64"), "reward": pd.Series(dtype="float64")}),
        },
        assumptions=(
            Assumption(
                "price of B200", 5.5, "USD per GPU-hour", "analyst", f"Quote of {HOSTILE}", "2026-10-01"
            ),
            Assumption("MFU ceiling", 0.6, "frac", "vendor_spec", "data sheet", "2026-01-01"),
        ),
        warnings=(Notice("time_lower_bound", "Start-up is not in the file.", HOSTILE),),
        versions={
            "app": "0.1.0",
            "formulas": "1",
            "price_book": "2026-11-01",
            "prices": ["p-1", "p-2"],
            "data_cutoff": "2026-11-29",
        },
    )


def draw(result: Result) -> list[FrozenFigure]:
    """One figure in dollars, one in steps on host node-17.corp."""
    money = go.Figure(go.Bar(x=["a"], y=[41_234.5], hovertemplate="%{y:$,.0f}", name=HOSTILE))
    money.update_layout(title_text="Spend by run (USD)", meta={"alt": "Bars of dollars."})
    steps = go.Figure(go.Scatter(x=[1, 2, 3], y=[3.0, 2.0, 5.0], name="node-17.corp"))
    steps.update_layout(title_text=f"Steps {HOSTILE}", meta={"alt": f"Line of {HOSTILE}."})
    return [freeze_figure("money", "", money, money), freeze_figure("steps", "", steps, steps)]


def sample_report() -> FrozenReport:
    """The sample answer, frozen."""
    return freeze([sample_result()], f"Weekly {HOSTILE}", draw=draw, now=NOW)
