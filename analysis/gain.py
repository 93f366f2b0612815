"""Did the money buy anything: before against after by benchmark, and what a point cost."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from analysis.checks import checked
from analysis.common import figure, nothing, result
from analysis.energy import EnergyParams
from analysis.energy import compute as compute_energy
from analysis.evaluations import Evaluations, load_evaluations
from analysis.frames import Row, number, records
from analysis.gainrates import ENERGY, RATES, WEIGHTED, parse_weights, rates, subject_rates, weighted
from analysis.gainwords import best_of_notices, weight_notices, weighted_figure
from analysis.headline import (
    NO_BASELINE,
    choose_gain,
    choose_subject,
    figures,
    gain_notices,
    sentence,
    usd_per_point,
)
from analysis.pairs import COLUMNS, Gains, compare
from analysis.params import CommonParams
from analysis.result import Figure, Result
from analysis.spend import Spend, compute_spend, filters_of
from data.view import View

VERDICTS = ["benchmark", "better", "worse", "cannot_tell", "refused"]
POINT = ["usd", "usd_low", "usd_high", "usd_per_point", "usd_per_point_low", "usd_per_point_high"]


class GainParams(CommonParams):
    """`before`: the checkpoint the money started from, or the first logged; `after`: a run's last or best.

    `correlation`: assumed between a task's two results where only totals are known; empty: Newcombe, as if
    the two evaluations were independent. `estimand`: mean over tasks, or over clusters where tasks have them.
    `weights`: 'benchmark:weight' texts, for a weighted gain beside the single ones. `rate`: the one that is
    drawn; per MWh needs the energy of every run, which no other rate asks for.
    """

    question: ClassVar[str] = "gain"
    benchmark: str = ""
    before: Literal["start", "first_logged"] = "start"
    after: Literal["last", "best"] = "last"
    correlation: float | None = Field(default=None, ge=-1, le=1)
    estimand: Literal["tasks", "clusters"] = "tasks"
    weights: tuple[str, ...] = ()
    rate: Literal["points_per_1000_usd", "nats_per_1000_usd", "points_per_mwh"] = "points_per_1000_usd"
    seed: int = 20260301


def compute(view: View, params: GainParams) -> Result:
    """Tables: `gains` (a row a run and key; refused rows say why), `verdicts` (counts by benchmark), `rates`
    (RATES, gain per dollar and energy), `weighted` (WEIGHTED, a row a run; empty without weights).
    """
    weights = parse_weights(params.weights)
    spend = compute_spend(view, params)
    if spend.runs.empty:
        empty = {"gains": [*COLUMNS, *POINT], "verdicts": VERDICTS, "rates": RATES, "weighted": WEIGHTED}
        return nothing("gain", view, params, empty)
    evals = load_evaluations(view, filters_of(params))
    gains = compare(
        view, evals, params.before, params.after, params.benchmark, params.seed, params.correlation,
        params.estimand,
    )  # fmt: skip
    every = gains if not (weights and params.benchmark) else _on_all(view, evals, params)
    table = _priced(gains, spend, params)
    subject = choose_subject(spend, params.boundary)
    row, note = choose_gain(gains, evals, subject, shipped_of(spend, subject.campaign))
    draws = gains.draws.get((row["run"], row["benchmark_id"], row["key"])) if row else None
    point = usd_per_point(row, draws, subject.usd, subject.low, subject.high, params.seed)
    headline = [f for f in figures(params, subject, row, point) if f.name != "goodput"]
    headline += [*subject_rates(params, subject, row, gains), *_smallest_detectable(row)]
    notices = [*spend.notices, *evals.notices, *gains.notices, *checked(view, params)[1]]
    notices += gain_notices(row, note, _without_start(spend, gains))
    together = weighted(every, spend, weights, params.seed)
    energy = energy_of(view, params) if params.rate == ENERGY else {}
    return result(
        "gain", view, params, sentence(params, subject, row, point[0], None, bool(note)),
        headline=[*headline, *weighted_figure(together, subject.runs)],
        tables={
            "gains": table, "verdicts": _verdicts(table),
            "rates": rates(gains, spend, energy, params.boundary, params.seed), "weighted": together,
        },
        assumptions=[*spend.assumptions, *evals.assumptions, *gains.assumptions],
        notices=[*notices, *best_of_notices(params.after, table), *weight_notices(together)],
        prices=spend.allocations,
    )  # fmt: skip


def _smallest_detectable(row: Mapping[str, Any] | None) -> list[Figure]:
    if row is None or row["mdd"] is None or pd.isna(row["mdd"]):
        return []
    label = f"Smallest detectable on {row['benchmark']}"
    return [figure("mdd", row["mdd"], n=int(row["n"]), label=label)]


def energy_of(view: View, params: CommonParams) -> dict[str, Row]:
    """kWh at the meter by run with their bounds, as the question energy finds them."""
    common = {name: getattr(params, name) for name in CommonParams.model_fields}
    runs = compute_energy(view, EnergyParams(**common)).tables["runs"]
    names = ("kwh", "kwh_low", "kwh_high")
    return {row["run"]: {name: number(row[name]) for name in names} for row in records(runs)}


def _on_all(view: View, evals: Evaluations, params: GainParams) -> Gains:
    """Weights are of several benchmarks, whichever one is looked at."""
    how = (params.correlation, params.estimand)
    return compare(view, evals, params.before, params.after, "", params.seed, *how)


def shipped_of(spend: Spend, campaign: str) -> str:
    """The checkpoint a campaign shipped, '' when it names none."""
    found = spend.runs.loc[spend.runs["campaign"] == campaign, "shipped_checkpoint"].dropna()
    return str(found.iloc[0]) if len(found) else ""


def _priced(gains: Gains, spend: Spend, params: GainParams) -> pd.DataFrame:
    table = gains.table.merge(spend.runs[["run", "usd", "usd_low", "usd_high"]], on="run", how="left")
    found = []
    for row in records(table):
        draws = gains.draws.get((row["run"], row["benchmark_id"], row["key"]))
        found.append(usd_per_point(row, draws, row["usd"], row["usd_low"], row["usd_high"], params.seed))
    for place, name in enumerate(POINT[3:]):
        table[name] = pd.Series([f[place] for f in found], index=table.index, dtype="float64")
    for name in ("gain", "low", "high", "mdd", "n"):
        table[name] = table[name].astype("float64")
    return table.sort_values(["benchmark", "run", "key"], kind="stable").reset_index(drop=True)


def _verdicts(table: pd.DataFrame) -> pd.DataFrame:
    counts: dict[str, dict[str, Any]] = {}
    for name, verdict, gain in table[["benchmark", "verdict", "gain"]].itertuples(index=False):
        row = counts.setdefault(
            name, {"benchmark": name, "better": 0, "worse": 0, "cannot_tell": 0, "refused": 0}
        )
        row["refused" if pd.isna(gain) else verdict.replace(" ", "_")] += 1
    return pd.DataFrame(list(counts.values()), columns=VERDICTS)


def _without_start(spend: Spend, gains: Gains) -> list[str]:
    """Runs that were evaluated but have nothing to compare with, not even something unlike."""
    none = gains.table.groupby("run")["gain"].count() == 0
    return [str(r) for r in spend.runs["run"] if bool(none.get(r, False)) and r not in gains.refused]


__all__ = ["NO_BASELINE", "GainParams", "compute", "shipped_of"]
