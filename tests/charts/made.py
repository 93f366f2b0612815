"""Made-up results with the tables that analyses return, for figures to draw."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.result import Result

EVIL = '<b>evil</b> <a href="x">run</a>'
RUNS = ("alpha", "beta", EVIL)


def result(
    analysis: str, answer: str = "An answer.", params: dict[str, Any] | None = None, **tables: Any
) -> Result:
    """Return a result that holds these tables."""
    frames = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    return Result(analysis=analysis, params=params or {}, answer=answer, tables=frames)


def ledger(runs: tuple[str, ...] = RUNS) -> Result:
    """Three runs, four phases each; one phase is unattributed and may be negative."""
    phases = [
        {"run": run, "phase": phase, "usd": usd * (i + 1), "seconds": usd * 60}
        for i, run in enumerate(runs)
        for phase, usd in {"rollout": 60, "train": 25, "unattributed": -3, "outside_steps": 8}.items()
    ]
    return result("ledger", phases=phases, scores=scores(runs).to_dict("records"))


def scores(runs: tuple[str, ...] = RUNS, points: int = 6) -> pd.DataFrame:
    """Rising scores on one benchmark, fractions of tasks."""
    rows = []
    for i, run in enumerate(runs):
        for step in range(points):
            score = 0.5 + 0.05 * np.log1p(step * (i + 1))
            rows.append(
                {"run": run, "benchmark_id": "math-500", "benchmark": "MATH-500", "key": "test · accuracy",
                 "checkpoint": f"{run}@{step}", "step": step, "x": 100.0 * step * (i + 1), "score": score,
                 "low": score - 0.04, "high": score + 0.04, "n": 500, "kind": "fraction"}
            )  # fmt: skip
    return pd.DataFrame(rows)


def gain() -> Result:
    """Better, worse, cannot tell, and one refused comparison."""
    shared = {"benchmark": "MATH-500", "unit": "points", "n": 500.0, "method": "paired", "before_score": 0.5}
    told = [
        ("alpha", 5.9, 4.1, 7.7, "better"),
        ("beta", -3.0, -5.0, -1.0, "worse"),
        (EVIL, 1.0, -1.0, 3.0, "cannot tell"),
        ("delta", None, None, None, "cannot tell"),
    ]
    names = ("run", "gain", "low", "high", "verdict")
    rows = [{**dict(zip(names, row, strict=True)), "after_score": 0.5, **shared} for row in told]
    per = "points_per_1000_usd"
    rates = [
        {
            "run": run,
            "benchmark": "MATH-500",
            "verdict": verdict,
            per: gain,
            f"{per}_low": low,
            f"{per}_high": high,
        }
        for run, gain, low, high, verdict in told[:3]
    ]
    return result("gain", gains=rows, rates=rates)


def learning(x: str = "usd", points: int = 6, runs: tuple[str, ...] = RUNS) -> Result:
    """Score points on any axis, dollars per point by generation."""
    rows = [
        {"run": run, "generation": gen, "usd_per_point": 100.0 * (i + 1), "usd_per_point_low": 80.0 * (i + 1),
         "usd_per_point_high": 150.0 * (i + 1)}
        for i, (run, gen) in enumerate(zip(runs, ("Hopper", "Blackwell", ""), strict=False))
    ]  # fmt: skip
    return result("learning", params={"x": x}, points=scores(runs, points).to_dict("records"), runs=rows)
