"""What one rollout, one verified answer, one informative rollout and a million tokens cost."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from analysis.checks import checked
from analysis.common import figure, nothing, result
from analysis.formulas import FORMULAS
from analysis.frames import NAN, Row, known, records, table
from analysis.gaintable import lineage_sums
from analysis.headline import Money, choose_subject, range_kind
from analysis.params import CommonParams
from analysis.result import Figure, Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import money, percent, price_words
from data.queries import unit_economics as queries
from data.view import View
from models.draws import money_draws
from models.stats import Interval, percentile_interval, wilson

NO_CORRECT = (
    "reward is not accuracy: add the column correct (rollouts that a verifier passed) with the steps template"
)
NO_GROUPS = "add groups, groups_all_right and groups_all_wrong with the steps template"
UNITS = [
    "run", "usd", "usd_low", "usd_high", "rollouts", "covered_frac", "tok_gen", "p_correct", "p_correct_low",
    "p_correct_high", "correct_n", "q_informative", "q_informative_low", "q_informative_high", "groups_n",
    "usd_per_rollout", "usd_per_rollout_low", "usd_per_rollout_high", "usd_per_correct",
    "usd_per_correct_low",
    "usd_per_correct_high", "usd_per_informative", "usd_per_informative_low", "usd_per_informative_high",
    "usd_per_mtok", "usd_per_mtok_low", "usd_per_mtok_high", "tok_gen_frac", "tok_trained",
    "tok_trained_frac", "usd_per_mtok_trained", "usd_per_mtok_trained_low", "usd_per_mtok_trained_high",
    "dropped", "dropped_n", "not_dropped_frac", "survived",
]  # fmt: skip


SHARES = (
    ("correct", "p_correct", "correct", "correct_n"),
    ("informative", "q_informative", "informative", "groups_n"),
)
DRAWS = 4000
SEED = 20260301
BARS = ["run", "value", "low", "high", "unit"]


class UnitEconomicsParams(CommonParams):
    """Shared parameters only."""

    question: ClassVar[str] = "unit_economics"


def compute(view: View, params: UnitEconomicsParams) -> Result:
    """Tables: `units` (UNITS, a row a run), `bars` (run, unit, value, low, high) for a chart."""
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("unit_economics", view, params, {"units": UNITS, "bars": BARS})
    judged = queries.judged(view, filters_of(params))
    units = unit_costs(spend, judged)
    subject = choose_subject(spend, params.boundary)
    mine = units[units["run"].isin(subject.runs)]
    total = _together(mine)
    return result(
        "unit_economics", view, params, _answer(params, subject, total),
        headline=_figures(params, total, range_kind(subject)), tables={"units": units, "bars": _bars(units)},
        notices=[*spend.notices, *checked(view, params)[1], *_notices(units)],
        assumptions=spend.assumptions, prices=spend.allocations,
    )  # fmt: skip


def unit_costs(spend: Spend, judged: pd.DataFrame) -> pd.DataFrame:
    """Unit costs by run. Counts are those of the surviving lineage; spend is that of the asked boundary.

    Steps that do not report a count have no part in it: their share of the spend is left out
    (`covered_frac`).
    """
    base = spend.runs[["run", "usd", "usd_low", "usd_high"]]
    rows = [{"run": run, **row} for run, row in lineage_sums(spend).items()]
    names = ["run", "steps", "survived", "rollouts_frac", "tok_gen_frac", "rollouts", "tok_gen"]
    sums = table(rows, names, [names[1], *names[3:]])
    out = base.merge(sums, on="run", how="left")
    out = out.merge(judged, on="run", how="left")
    for _, share, part, total in SHARES:
        found = [_wilson(a, b) for a, b in zip(out[part], out[total], strict=True)]
        for end in ("value", "low", "high"):
            name = share if end == "value" else f"{share}_{end}"
            out[name] = pd.Series(
                [getattr(f, end) if f else None for f in found], index=out.index, dtype="float64"
            )
    out["covered_frac"] = out["rollouts_frac"]
    gone = (out["dropped"] / out["dropped_n"]).where(out["dropped_n"] > 0)
    out["not_dropped_frac"] = (1 - gone).where(gone.between(0, 1))
    for end in ("", "_low", "_high"):
        per = (out[f"usd{end}"] * out["rollouts_frac"] / out["rollouts"]).where(out["rollouts"] > 0)
        out[f"usd_per_rollout{end}"] = per
        tokens = (out[f"usd{end}"] * out["tok_gen_frac"] / (out["tok_gen"] / 1e6)).where(out["tok_gen"] > 0)
        out[f"usd_per_mtok{end}"] = tokens
        trained = out[f"usd{end}"] * out["tok_trained_frac"] / (out["tok_trained"] / 1e6)
        out[f"usd_per_mtok_trained{end}"] = trained.where(out["tok_trained"] > 0)
    for unit, share, part, total in SHARES:
        useful = out[share] * (out["not_dropped_frac"].fillna(1.0) if unit == "informative" else 1.0)
        out[f"usd_per_{unit}"] = (out["usd_per_rollout"] / useful).where(useful > 0)
        ends = [_joint_ends(row, row[part], row[total], unit == "informative") for row in records(out)]
        out[[f"usd_per_{unit}_low", f"usd_per_{unit}_high"]] = pd.DataFrame(
            ends, index=out.index, columns=["low", "high"], dtype="float64"
        )
    return out[UNITS]


def _joint_ends(row: Row, part: Any, total: Any, used: bool) -> tuple[float, float]:
    """95 % of dollars for one that counts, by joint draws of the price (between its quotes) and the share
    (Jeffreys posterior of a binomial), with `used` that of the rollouts that were not dropped too; not a
    number where either is missing or nothing counts.
    """
    value, low, high = (row[f"usd_per_rollout{end}"] for end in ("", "_low", "_high"))
    if (
        _wilson(part, total) is None
        or not part > 0
        or not all(known(v) and v > 0 for v in (value, low, high))
    ):
        return NAN, NAN
    rng = np.random.default_rng(SEED + 1)
    shares = rng.beta(part + 0.5, total - part + 0.5, DRAWS)
    if used and known(row["not_dropped_frac"]):
        shares *= rng.beta(row["dropped_n"] - row["dropped"] + 0.5, row["dropped"] + 0.5, DRAWS)
    return percentile_interval(money_draws(value, low, high, DRAWS, SEED) / shares)


def _wilson(part: Any, total: Any) -> Interval | None:
    if pd.isna(part) or pd.isna(total) or not total > 0 or not 0 <= part <= total:
        return None
    return wilson(float(part), float(total))


def _together(rows: pd.DataFrame) -> dict[str, Any]:
    """Unit costs of several runs: dollars of the runs that have one, over their counts.

    A run without the count or dollars has no part in that unit; `<unit>_runs` says how many have. The ends of
    the runs are added as if all were low or high at once, so the interval of several is never too narrow.
    """
    out: dict[str, Any] = {"all_runs": len(rows)}
    counts = {
        "usd_per_rollout": rows["rollouts"],
        "usd_per_mtok": rows["tok_gen"],
        "usd_per_correct": rows["rollouts"] * rows["p_correct"],
        "usd_per_informative": rows["rollouts"] * rows["q_informative"] * rows["not_dropped_frac"].fillna(1),
    }
    for unit, made in counts.items():
        used = rows[unit].notna() & made.gt(0)
        out[f"{unit}_runs"] = int(used.sum())
        for end in ("", "_low", "_high"):
            total = float((rows[f"{unit}{end}"] * made)[used].sum())
            out[f"{unit}{end}"] = total / float(made[used].sum()) if used.any() else None
    return out


def _figures(params: CommonParams, row: dict[str, Any], quotes: str) -> list[Figure]:
    no_rollouts = "spend or the number of rollouts is missing"
    words = {
        "usd_per_rollout": (no_rollouts, quotes),
        "usd_per_correct": (NO_CORRECT, "ci95"),
        "usd_per_informative": (NO_GROUPS, "ci95"),
        "usd_per_mtok": ("spend or generated tokens are missing", quotes),
    }
    return [
        figure(
            name,
            row[name],
            low=row[f"{name}_low"],
            high=row[f"{name}_high"],
            interval=interval,
            boundary=params.boundary,
            missing=missing,
            label=_label(name, row),
        )
        for name, (missing, interval) in words.items()
    ]


def _label(name: str, row: dict[str, Any]) -> str:
    used, everything = row[f"{name}_runs"], row["all_runs"]
    partial = f" ({used} of {everything} runs)" if 0 < used < everything else ""
    return FORMULAS[name].name + partial


def _bars(units: pd.DataFrame) -> pd.DataFrame:
    names = ["usd_per_rollout", "usd_per_correct", "usd_per_informative", "usd_per_mtok"]
    parts = [
        units[["run", name, f"{name}_low", f"{name}_high"]]
        .set_axis(["run", "value", "low", "high"], axis=1)
        .assign(unit=name)
        for name in names
    ]
    out = pd.concat(parts, ignore_index=True)[BARS]
    return out[out["value"].notna()].reset_index(drop=True)


def _notices(units: pd.DataFrame) -> list[Notice]:
    out: list[Notice] = []
    for row in records(units):
        run = str(row["run"])
        if pd.isna(row["p_correct"]):
            out.append(Notice("reward_not_accuracy", f"{run}: {NO_CORRECT}.", run))
        if pd.isna(row["q_informative"]):
            out.append(Notice("groups_missing", f"{run}: to count informative rollouts, {NO_GROUPS}.", run))
        elif pd.isna(row["not_dropped_frac"]):
            text = f"{run}: how many rollouts were dropped as stale is not logged; none is taken to be."
            out.append(Notice("dropped_unknown", text, run))
        elif row["dropped"] > 0:
            text = f"{run}: dropped rollouts are taken to be as informative as the others."
            out.append(Notice("dropped_alike", text, run))
        if pd.notna(row["covered_frac"]) and row["covered_frac"] < 1:
            text = (
                f"{run}: rollouts are known for {percent(row['covered_frac'])} of the steps; the rest of the "
                "spend is left out."
            )
            out.append(Notice("rollouts_partial", text, run))
        if pd.notna(row["survived"]) and not row["survived"]:
            out.append(
                Notice(
                    "no_surviving_attempt", f"{run}: no attempt survived, so all its steps are counted.", run
                )
            )
    return out


def _answer(params: CommonParams, spent: Money, row: dict[str, Any]) -> str:
    subject = spent.subject[0].lower() + spent.subject[1:]
    per = row.get("usd_per_rollout")
    if per is None or pd.isna(per):
        return f"What a rollout of {subject} cost is not known: spend or the number of rollouts is missing."
    least = "at least " if spent.at_least else ""
    paid = price_words(params.price, params.boundary, spent.metered)
    text = f"A rollout of {subject} cost {least}{money(per)} {paid}"
    good, useful = row.get("usd_per_correct"), row.get("usd_per_informative")
    if good is not None and pd.notna(good):
        text += f", a verified-correct one {money(good)}"
    if useful is not None and pd.notna(useful):
        text += f", one with a learning signal {money(useful)}"
    mtok = row.get("usd_per_mtok")
    if mtok is not None and pd.notna(mtok):
        text += f"; a million generated tokens {money(mtok)}"
    if good is None or pd.isna(good):
        text += ". What a correct one cost is not known: reward is not accuracy"
    return text + "."
