"""The front as drawn: a box an interval, hollow below the front, and rates against the zero line."""

import numpy as np
import pandas as pd
import pytest

from analysis.formulas.numbered import numbered
from charts import buckets, frontier, gain
from charts.drawn import drawn
from tests.charts.made import EVIL, result


def candidates() -> list[dict]:
    rows = (("cheap", 100.0, 0.6, True), (EVIL, 400.0, 0.7, True), ("dear", 900.0, 0.65, False))
    return [
        {
            "run": run, "checkpoint": f"{run}@1", "benchmark": "MATH-500", "group": run, "usd": usd,
            "usd_low": 0.8 * usd, "usd_high": 1.25 * usd, "score": score, "low": score - 0.04,
            "high": score + 0.04, "on_front": on, "front_frac": 0.9 if on else 0.1, "best_frac": 0.3,
        }
        for run, usd, score, on in rows
    ]  # fmt: skip


def test_the_front_is_a_staircase_through_its_points_and_a_box_is_both_intervals() -> None:
    fig = frontier.pareto(result("frontier", params={"by": "run"}, candidates=candidates()), "light")
    line, *rest = fig.data
    assert (list(line.x), list(line.y), line.line.shape) == ([100.0, 400.0], pytest.approx([60, 70]), "hv")
    box = next(t for t in rest if t.fill == "toself")
    assert (min(box.x), max(box.x), min(box.y), max(box.y)) == pytest.approx((80, 125, 56, 64))
    low, high = fig.layout.xaxis.range
    assert 10**low < 80 and 10**high > 1125
    dear = next(t for t in rest if t.name == "dear")
    assert list(dear.marker.symbol) == ["circle-open"]
    assert "<b>evil</b>" not in fig.to_json()
    table = drawn(fig)
    assert {"low", "high"} <= set(table.columns)


def test_rates_that_are_not_finite_are_not_drawn() -> None:
    name = "nats_per_1000_usd"
    rows = [
        {
            "run": f"r{n}",
            "benchmark": "B",
            "verdict": "better",
            name: v,
            f"{name}_low": low,
            f"{name}_high": h,
        }
        for n, (v, low, h) in enumerate([(2.0, 1.0, 3.0), (np.inf, 1.0, np.inf)])
    ]
    fig = gain.rates(result("gain", params={"rate": name}, rates=pd.DataFrame(rows)), "light")
    assert [list(t.x) for t in fig.data] == [[2.0]]
    assert fig.layout.shapes[0].x0 == 0


def test_buckets_of_a_run_are_stacked_to_its_spend() -> None:
    rows = [
        {"run": "a", "bucket": b, "name": b, "usd": usd, "frac": usd / 10}
        for b, usd in (("train", 4.0), ("generate", 5.0), ("unattributed", -1.0), ("failed", 2.0))
    ]
    fig = buckets.buckets(result("buckets", buckets=rows), "dark")
    assert sum(x for t in fig.data for x in t.x) == 10
    assert fig.layout.barmode == "relative"


def test_every_metric_has_a_number_and_every_number_a_metric() -> None:
    assert {number for number, _, _ in numbered()} == set(range(1, 16))
