"""What moves the cost of commitments most: every input alone at its ends, the mix chosen anew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from analysis.commitments_tables import gpus_of, words_of
from analysis.commitments_worlds import Stage, beliefs, case_of, problem_of, worlds_of
from analysis.frames import Row, table
from analysis.own_inputs import Setting
from models.commitments import Mix, World
from models.commitments_solve import best_mix

TOP = 5
TORNADO = (
    "input", "label", "unit", "value", "low", "high", "at_low_usd", "at_high_usd", "swing_usd", "basis",
    "mix_at_low", "mix_at_high", "base_at_low", "base_at_high", "top",
)  # fmt: skip


def tornado_rows(stage: Stage) -> pd.DataFrame:
    """Lowest expected cost with each input alone at its ends, mix chosen anew; the five that move it most."""
    rows: list[Row] = []
    for one, solved in _moved(stage):
        (low_mix, low), (high_mix, high) = solved
        rows.append(
            {
                "input": one.name, "label": one.label, "unit": one.unit, "value": one.value, "low": one.low,
                "high": one.high, "at_low_usd": low, "at_high_usd": high, "swing_usd": abs(high - low),
                "basis": "published range" if one.published_range else "your range",
                "mix_at_low": words_of(stage, low_mix), "mix_at_high": words_of(stage, high_mix),
                "base_at_low": gpus_of(stage, low_mix), "base_at_high": gpus_of(stage, high_mix),
            }
        )  # fmt: skip
    rows = [row for row in rows if row["swing_usd"] > 1e-6]
    rows.sort(key=lambda row: (-row["swing_usd"], row["input"]))
    for place, row in enumerate(rows):
        row["top"] = place < TOP
    return table(rows, TORNADO, (*TORNADO[3:9], *TORNADO[12:14]))


Ends = tuple[tuple[Mix, float], tuple[Mix, float]]


def _moved(stage: Stage) -> list[tuple[Setting, Ends]]:
    out: list[tuple[Setting, Ends]] = []
    middle = {name: one.value for name, one in stage.setup.rates.items()}

    def add(one: Setting, worlds: Sequence[Mapping[str, World]]) -> None:
        low, high = (best_mix(problem_of(stage, at)) for at in worlds)
        out.append((one, (low, high)))

    settings = stage.own.ranged() if not stage.own.lacking else {}
    for name, one in settings.items():
        add(one, [worlds_of(stage, case_of(stage, values={name: e})) for e in (one.low, one.high)])
    for name, one in stage.setup.rates.items():
        if one.value is not None and one.low != one.high:
            add(
                one,
                [worlds_of(stage, case_of(stage, rates={**middle, name: e})) for e in (one.low, one.high)],
            )
    for name, one in beliefs(stage.params).items():
        if one.low is not None and one.high is not None:
            tried = [stage.params.model_copy(update={name: _typed(name, e)}) for e in (one.low, one.high)]
            add(one, [worlds_of(stage, case_of(stage), params) for params in tried])
    add(*_demand(stage))
    low, mid, high = stage.params.decline_low, stage.params.decline_mid, stage.params.decline_high
    if low is not None and high is not None and low != high:
        told = Setting("decline", "Yearly fall of prices", mid, low, high, "fraction per year", "user",
                       "your setting", "")  # fmt: skip
        add(told, [worlds_of(stage, case_of(stage, decline=e)) for e in (low, high)])
    return out


def _typed(name: str, value: float) -> float:
    return int(value) if name == "next_months" else value


def _demand(stage: Stage) -> tuple[Setting, list[dict[str, World]]]:
    """All demand lower by `down_frac` or higher by `up_frac`, in every world."""
    params = stage.params
    low, high = 1 - params.down_frac, 1 + params.up_frac
    words = "Demand against the plan"
    told = Setting("demand", words, 1.0, low, high, "fraction of the plan", "user", "down_frac, up_frac", "")
    worlds = worlds_of(stage, case_of(stage))
    return told, [
        {name: replace(w, factor=w.factor * by) for name, w in worlds.items()} for by in (low, high)
    ]
