"""Dollars by bucket: what the money of each run was spent on, adding up to its spend."""

import math
from typing import ClassVar

import pandas as pd

from analysis.common import figure, nothing, result
from analysis.frames import NAN, Row, known, number, records, table
from analysis.headline import Money, choose_subject
from analysis.params import CommonParams
from analysis.phases import BOOKED, ON_CLOCK, ON_TOP, OUTSIDE, SANDBOX, UNATTRIBUTED, phase_costs
from analysis.result import Figure, Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import listing, money, percent, price_words
from data.queries import spend as queries
from data.view import View

TRAIN, GENERATE, REFIT, STARVED = "train", "generate", "refit", "starvation"
CHECKED, SANDBOXES, FAILED, HELD = "validation", "sandbox", "failed", "held_outside_steps"
OTHER, REST, BILLED, EXTRA = "other_phases", "unattributed", "tokens", "booked"
BUCKETS = {
    TRAIN: "Training",
    GENERATE: "Generation and reward",
    REFIT: "Refit (weight sync)",
    STARVED: "Starvation: waiting for the other pool",
    CHECKED: "Validation",
    SANDBOXES: "Sandboxes and environments",
    OTHER: "Checkpoints, data, other phases",
    REST: "Step time no phase accounts for",
    HELD: "Start-up and held outside steps",
    FAILED: "Failed and redone work",
    BILLED: "Token bills",
    EXTRA: "Evaluations, data, staff (booked)",
}
PHASES = {
    **dict.fromkeys(("train", "advantage", "logprob", "ref", "value"), TRAIN),
    **dict.fromkeys(("rollout", "reward"), GENERATE),
    "weight_sync": REFIT, "eval": CHECKED, "env": SANDBOXES, SANDBOX: SANDBOXES, UNATTRIBUTED: REST,
    OUTSIDE: HELD, BOOKED: EXTRA,
}  # fmt: skip
PRODUCTIVE = (TRAIN, GENERATE)
COLUMNS = ["run", "bucket", "name", "usd", "usd_low", "usd_high", "frac"]
NUMBERS = COLUMNS[3:]


class BucketsParams(CommonParams):
    """Shared parameters only."""

    question: ClassVar[str] = "buckets"


def compute(view: View, params: BucketsParams) -> Result:
    """Table `buckets` (COLUMNS): a row a run and bucket that holds money; they add up to the run's spend."""
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("buckets", view, params, {"buckets": COLUMNS})
    filters = filters_of(params)
    seconds, inside = queries.phase_seconds(view, filters), queries.step_seconds(view, filters)
    costs = records(phase_costs(spend, seconds, inside, params.boundary))
    rows = [row for run in records(spend.runs) for row in _of_run(run, costs, spend, params.boundary)]
    frame = table(rows, COLUMNS, NUMBERS)
    subject = choose_subject(spend, params.boundary)
    mine = frame[frame["run"].isin(subject.runs)]
    return result(
        "buckets", view, params, _answer(params, subject, mine), headline=_figures(params, mine),
        tables={"buckets": frame}, assumptions=spend.assumptions,
        notices=[*spend.notices, *_notices(frame)], prices=spend.allocations,
    )  # fmt: skip


def _of_run(run: Row, costs: list[Row], spend: Spend, boundary: str) -> list[Row]:
    """Buckets of one run, none when it has no dollars. What a failure lost is one bucket, taken out of the
    phases it went to; waits that a file reports inside unattributed time are moved out of it.
    """
    if not known(number(run["usd"])):
        return []
    mine = [row for row in costs if row["run"] == run["run"]]
    sums: dict[str, float] = {}
    for row in mine:
        if row["kind"] in ("wait", "busy"):
            continue
        kept = row["usd_kept"] if row["phase"] != BOOKED else row["usd"]
        _add(sums, _bucket(row), kept)
        _add(sums, FAILED, row["usd"] - kept)
    for waited in _waits(mine).values():
        _add(sums, REST, -waited)
        _add(sums, STARVED, waited)
    end = "usd_kept" if boundary == "compute" else "usd"
    _add(sums, BILLED, math.fsum(bill[end] for bill in spend.bills if bill["run"] == run["run"]))
    scale = {name: number(run[name]) / run["usd"] if run["usd"] else NAN for name in ("usd_low", "usd_high")}
    return [
        {
            "run": run["run"], "bucket": bucket, "name": name, "usd": sums[bucket],
            **{end: sums[bucket] * factor for end, factor in scale.items()},
            "frac": sums[bucket] / run["usd"] if run["usd"] else NAN,
        }
        for bucket, name in BUCKETS.items()
        if abs(sums.get(bucket, 0.0)) > 1e-9
    ]  # fmt: skip


def _add(sums: dict[str, float], bucket: str, usd: float) -> None:
    sums[bucket] = sums.get(bucket, 0.0) + usd


def _bucket(row: Row) -> str:
    """Exposed time of a rollout on the trainer's clock is the trainer waiting for it."""
    if row["kind"] in (ON_CLOCK[1], ON_TOP[1]) and row["phase"] in ("rollout", "reward", "env", "data"):
        return STARVED
    return PHASES.get(row["phase"], OTHER)


def _waits(rows: list[Row]) -> dict[tuple[int, str], float]:
    """Kept dollars of waits by attempt and pool, as far as its unattributed time holds them."""
    waits: dict[tuple[int, str], float] = {}
    rest: dict[tuple[int, str], float] = {}
    for row in rows:
        key = (row["attempt"], row["pool"])
        if row["kind"] == "wait":
            waits[key] = waits.get(key, 0.0) + row["usd_kept"]
        elif row["phase"] == UNATTRIBUTED:
            rest[key] = rest.get(key, 0.0) + row["usd_kept"]
    return {key: min(usd, max(0.0, rest.get(key, 0.0))) for key, usd in waits.items()}


def _notices(frame: pd.DataFrame) -> list[Notice]:
    below = frame[(frame["usd"] < 0) & (frame["bucket"] == REST)]
    return [
        Notice(
            "phases_overlap",
            f"{run}: its phases add up to more than its steps, so the step time no phase accounts for is "
            "below 0.",
            str(run),
        )
        for run in below["run"]
    ]


def _answer(params: BucketsParams, subject: Money, mine: pd.DataFrame) -> str:
    if mine.empty:
        return f"{subject.subject} has no dollars to split yet. {subject.missing}"
    by = mine.groupby("bucket")["usd"].sum()
    whole = float(by.sum())
    done = float(sum(by.get(name, 0.0) for name in PRODUCTIVE))
    rest = [name for name in by.sort_values(ascending=False, kind="stable").index if name not in PRODUCTIVE]
    largest = [f"{BUCKETS[str(n)].lower()} {percent(by[n] / whole)}" for n in rest[:2] if by[n] > 0]
    paid = price_words(params.price, params.boundary, subject.metered)
    tail = f"; largest of the rest: {listing(largest)}" if largest else ""
    return (
        f"Of {money(whole)} {paid} for {subject.subject[0].lower() + subject.subject[1:]}, "
        f"{percent(done / whole)} went to training and generation that survived{tail}."
    )


def _figures(params: BucketsParams, mine: pd.DataFrame) -> list[Figure]:
    if mine.empty:
        return []
    whole = float(mine["usd"].sum())
    done = float(mine.loc[mine["bucket"].isin(PRODUCTIVE), "usd"].sum())
    return [
        figure("bucket_productive", done / whole, boundary=params.boundary),
    ]
