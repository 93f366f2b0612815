"""Small phases are one colour, nothing is lost by it, and time in no phase keeps its hatching."""

import pandas as pd
import pytest

from analysis.result import Result
from charts import bottleneck, ledger
from charts.drawn import drawn
from charts.folding import MOST_ENTRIES, fold
from tests.charts.made import result

SPEND = {"rollout": 600.0, "train": 300.0, "ref": 20.0, "reward": 10.0, "eval": 5.0, "unattributed": 2.0}
EVEN = ["rollout", "env", "reward", "logprob", "ref", "value", "advantage", "train", "eval", "outside_steps"]


def spent(runs: tuple[str, ...] = ("a", "b")) -> Result:
    rows = [{"run": r, "phase": p, "usd": v, "seconds": v} for r in runs for p, v in SPEND.items()]
    return result("ledger", phases=rows)


def test_phases_under_three_percent_are_one_bar_that_tells_its_parts() -> None:
    fig = ledger.spend_by_phase(spent(), "light")
    assert [t.name for t in fig.data] == ["Rollout", "Train", "Other phases", "Unattributed"]
    together, rest = fig.data[2], fig.data[3]
    assert set(together.x) == {35.0} and not together.marker.pattern.shape and rest.marker.pattern.shape
    assert "Reference: $20.00<br>Reward: $10.00<br>Eval: $5.00" in together.customdata[0][1]
    assert "under 3 %" in fig.layout.meta["subtitle"]


def test_the_csv_of_a_folded_stack_is_what_is_drawn() -> None:
    rows = drawn(ledger.spend_by_phase(spent(), "light"))
    assert set(rows["series"]) == {"Rollout", "Train", "Other phases", "Unattributed"}
    assert rows["Spend (USD)"].sum() == pytest.approx(2 * sum(SPEND.values()))


def test_many_equal_phases_fit_the_legend_and_keep_the_total() -> None:
    data = pd.DataFrame({"phase": EVEN, "usd": [10.0 + i for i in range(len(EVEN))]})
    folded, words = fold(data, "usd")
    assert folded["phase"].nunique() == MOST_ENTRIES and "outside_steps" in set(folded["phase"])
    assert folded["usd"].sum() == data["usd"].sum() and "smallest" in words


def test_a_phase_that_fills_a_small_pool_keeps_its_name() -> None:
    rows = [("all", "rollout", 970.0), ("all", "ref", 5.0), ("all", "eval", 5.0), ("judge", "reward", 1.0)]
    data = pd.DataFrame(rows, columns=["pool", "phase", "seconds"])
    assert set(fold(data, "seconds", "pool")[0]["phase"]) == {"rollout", "reward", "other_phases"}


def test_one_small_phase_alone_is_not_renamed() -> None:
    data = pd.DataFrame({"phase": ["rollout", "eval"], "usd": [99.0, 1.0]})
    folded, words = fold(data, "usd")
    assert list(folded["phase"]) == ["rollout", "eval"] and words == ""


def test_the_step_stack_folds_and_its_bars_still_reach_the_step() -> None:
    steps = [
        {"run": "a", "bin": b, "attempt": 1, "step_first": b, "step_last": b, "steps": 1, "kept": True,
         "step_s": 937.0, "pool": "all", "phase": p, "kind": "wall", "seconds": s}
        for b in range(3) for p, s in SPEND.items()
    ]  # fmt: skip
    fig = bottleneck.step_stack(result("bottleneck", steps=steps), "light")
    assert [t.name for t in fig.data] == ["Rollout", "Train", "Other phases", "Unattributed"]
    heights = pd.concat([pd.Series(t.y, index=t.x) for t in fig.data]).groupby(level=0).sum()
    assert set(heights) == {sum(SPEND.values())}
    assert "Reward: 10 s" in fig.data[2].customdata[0] and "under 3 %" in fig.layout.meta["subtitle"]
