"""Scores placed where they belong: what had been spent by the end of the evaluated step."""

import math
from collections.abc import Iterable

import pandas as pd

from analysis.evaluations import KEY, Evaluations
from analysis.frames import NAN, Row, add_up, known, number, ratio, records, table
from analysis.params import CommonParams
from analysis.result import Notice
from analysis.spend import Spend, filters_of
from data.queries import learning as queries
from data.view import View
from models.stats import wilson

MONEY = ("usd", "usd_low", "usd_high")
SPENT = (*MONEY, "gpu_hours", "hours", "tokens", "rollouts")
KEPT = {"gpu_hours_kept": "gpu_hours", "tokens_kept": "tok_gen", "rollouts_kept": "rollouts"}
"""What the surviving lineage alone holds, by column: tokens that a crash lost taught nothing."""
NUMBERS = ["attempt", "step", "x", "x_low", "x_high", *SPENT, *KEPT, "steps", "score", "low", "high", "n"]
POINTS = [
    "run", "benchmark_id", "benchmark", "key", "checkpoint", "attempt", "step", "x", "x_low", "x_high",
    *MONEY,
    "gpu_hours", "tokens", "rollouts", "steps", "hours", "score", "low", "high", "n", "n_source", "is_start",
    "kind", *KEPT,
]  # fmt: skip
Place = tuple[str, float, float]
COUNTED = {"tokens": "tok_gen", "rollouts": "rollouts"}
COUNTS = ["run", "attempt", *COUNTED.values()]


def score_points(
    view: View, params: CommonParams, spend: Spend, evals: Evaluations, benchmark: str
) -> tuple[pd.DataFrame, list[Notice]]:
    """Scores on the surviving lineage of one benchmark (POINTS) with everything that had been spent by then.

    A run is drawn with the key that it was evaluated under most often. `x` is left open.
    """
    chosen = benchmark or next(iter(evals.benchmarks()), "")
    mine = [row for row in evals.rows if row["on_lineage"] and row["benchmark_id"] == chosen]
    kept, notices = _one_key(mine)
    done = records(queries.progress(view, filters_of(params)))
    spent = _cumulative(spend, done, params.boundary)
    out = [_point(row, spent.get((row["for_run"], row["attempt"], row["step"]), {})) for row in kept]
    out.sort(key=lambda r: (r["run"], not r["is_start"], _last(r["steps"]), _last(r["attempt"])))
    words = "has no step times: its money is spread evenly over its steps."
    notices.extend(
        Notice("even_steps", f"{run} {words}", run) for run in sorted({r["run"] for r in out if r["even"]})
    )
    return table(out, POINTS, NUMBERS).astype({"is_start": bool}), notices


def _last(value: float) -> float:
    return value if known(value) else math.inf


def _point(row: Row, spent: Row) -> Row:
    start = row["is_start"]
    out = {
        name: row[name] for name in ("benchmark_id", "benchmark", "checkpoint", "attempt", "step", "score")
    }
    out |= {name: row[name] for name in ("n", "n_source", "is_start", "kind")}
    out |= {name: 0.0 if start else spent.get(name, NAN) for name in (*SPENT, *KEPT)}
    out |= {"run": row["for_run"], "steps": 0.0 if start else row["step"], "even": bool(spent.get("even"))}
    out |= {
        "key": " · ".join(row[name] for name in KEY[1:] if row[name]),
        "x": NAN,
        "x_low": NAN,
        "x_high": NAN,
    }
    counted = row["kind"] == "fraction" and row["n"] > 0
    found = wilson(row["score"] * row["n"], row["n"]) if counted else None
    return out | {"low": found.low if found else NAN, "high": found.high if found else NAN}


def _one_key(rows: list[Row]) -> tuple[list[Row], list[Notice]]:
    """Per run the key with most evaluations; say so when runs use different ones."""
    counts: dict[str, dict[tuple[str, ...], int]] = {}
    for row in rows:
        keys = counts.setdefault(row["for_run"], {})
        key = tuple(row[name] for name in KEY[1:])
        keys[key] = keys.get(key, 0) + 1
    best = {run: min(keys, key=lambda k: (-keys[k], k)) for run, keys in counts.items()}
    kept = [row for row in rows if tuple(row[name] for name in KEY[1:]) == best[row["for_run"]]]
    if len(set(best.values())) <= 1:
        return kept, []
    words = (
        "Runs were evaluated with different versions, splits, harnesses, metrics or k: their lines do "
        "not compare."
    )
    return kept, [Notice("keys_differ", words, str(rows[0]["benchmark"]))]


def _cumulative(spend: Spend, done: list[Row], boundary: str) -> dict[Place, Row]:
    """What each run had spent at the end of an evaluated step: earlier attempts plus a share of this one.

    The share is that of step seconds, of steps where nobody timed them. At the full boundary, booked costs
    are
    spread like the rest.
    """
    own, before = _by_attempt(spend, boundary)
    attempts = {
        (r["run"], r["attempt"]): r for r in records(spend.attempts[["run", "attempt", "steps", "tok_gen"]])
    }
    factors = {
        r["run"]: ratio(r["usd_full"], r["usd_campaign"]) if boundary == "full" else 1.0
        for r in records(spend.runs[["run", "usd_full", "usd_campaign"]])
    }
    out: dict[Place, Row] = {}
    for row in done:
        key = (row["run"], row["attempt"])
        frac = number(row["time_frac"])
        even = not known(frac)
        if even:
            frac = ratio(number(row["steps"]), number(attempts[key]["steps"]))
        mine, earlier = own.get(key, {}), before.get(key, {})
        spent = {
            name: earlier.get(name, NAN) + frac * mine.get(name, NAN)
            for name in (*MONEY, "gpu_hours", "hours")
        }
        spent |= {name: spent[name] * factors[row["run"]] for name in MONEY}
        counted = {"tok_gen": number(row["tok_gen"]), "rollouts": number(row["rollouts"])}
        spent["tokens"] = earlier.get("tokens", 0.0) + counted["tok_gen"]
        spent["rollouts"] = earlier.get("rollouts", 0.0) + counted["rollouts"]
        now = counted | {"gpu_hours": frac * mine.get("gpu_hours", NAN)}
        spent |= {kept: earlier.get(kept, NAN) + now[name] for kept, name in KEPT.items()}
        out[row["run"], float(row["attempt"]), float(row["step"])] = spent | {"even": even}
    return out


def _by_attempt(
    spend: Spend, boundary: str
) -> tuple[dict[tuple[str, int], dict[str, float]], dict[tuple[str, int], dict[str, float]]]:
    """(cost of each attempt, cost of all earlier ones inside the boundary), by run and attempt."""
    kept = "_kept" if boundary == "compute" else ""
    names = [*MONEY, "gpu_hours"]
    sums = add_up(spend.rows, lambda r: (r["run"], r["attempt"]), [*names, *(f"{n}_kept" for n in names)])
    _add_bills(sums, spend.bills)
    held = add_up(spend.rows, lambda r: (r["run"], r["attempt"], r["pool"]), ["seconds"])
    own: dict[tuple[str, int], dict[str, float]] = {}
    before: dict[tuple[str, int], dict[str, float]] = {}
    running: dict[str, dict[str, float]] = {}
    for row in sorted(
        records(spend.attempts[[*COUNTS, "tok_gen_kept", "rollouts_kept"]]),
        key=lambda r: (r["run"], r["attempt"]),
    ):
        key = (row["run"], row["attempt"])
        got = sums.get(key, dict.fromkeys([*names, *(f"{n}_kept" for n in names)], NAN))
        hours = max((v["seconds"] / 3600 for k, v in held.items() if k[:2] == key), default=NAN)
        total = running.setdefault(row["run"], dict.fromkeys((*names, "hours", *COUNTED, *KEPT), 0.0))
        before[key] = dict(total)
        own[key] = {name: got[name] for name in names} | {"hours": hours}
        for name in names:
            total[name] += got[f"{name}{kept}"]
        total["hours"] += hours
        for name, column in COUNTED.items():
            counted = number(row[column])
            total[name] += counted if known(counted) else 0.0
        total["gpu_hours_kept"] += got["gpu_hours_kept"]
        for name in ("tokens_kept", "rollouts_kept"):
            total[name] += number(row[f"{KEPT[name]}_kept"])
    return own, before


def _add_bills(sums: dict[tuple[str, int], dict[str, float]], bills: Iterable[Row]) -> None:
    """Token bills on top of pools; an attempt without pools has dollars and no GPU-hours."""
    for bill in bills:
        key = (bill["run"], bill["attempt"])
        nothing = dict.fromkeys((*MONEY, *(f"{m}_kept" for m in MONEY)), 0.0)
        got = sums.setdefault(key, {**nothing, "gpu_hours": NAN, "gpu_hours_kept": NAN})
        for name in MONEY:
            got[name] += bill["usd"]
            got[f"{name}_kept"] += bill["usd_kept"]
