"""What runs cost: allocations priced, split into the surviving lineage and what was lost.

Cost boundaries: `compute` is every pool on the surviving lineage, `campaign` every allocation, `full` adds
evaluations and booked cost rows, before credits: full >= campaign >= compute; net is
full with its credits. All dollars derive from allocations; a run with an unpriced GPU pool has none, said.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.frames import NAN, Row, add_up, known, number, ratio, records, table, text
from analysis.metered import METERED, OWN, RENT, Metered, metered_costs
from analysis.params import CommonParams
from analysis.prices import COLUMNS as PRICE_COLUMNS
from analysis.prices import RATES, Pricing, price_rows
from analysis.result import Assumption, Notice
from analysis.resumed import ASSUMED, resting, resumption_notices
from analysis.spendlines import spend_lines
from analysis.words import listing, money
from data.catalogue import Catalogue
from data.gpu.claims import contradicted
from data.queries import spend as queries
from data.queries.filters import Filters
from data.view import View

CLOCK = "clock"
BASIS_WORDS = {
    "progress_bar": "the progress of its log",
    "step_sum": "the sum of its steps",
    "log_clock": "the stamps inside its log",
    "user": "a duration that was filled in",
}
HELD_BASES = (CLOCK, "user")
"""What says how long GPUs were held; every other source times less than that."""
GOODPUT_SUMS = ["useful_gpu_s", "timed_gpu_s", "billed_gpu_s", "sure_gpu_s"]
MONEY = ("usd", "usd_low", "usd_high")
RATE_OF = dict(zip(MONEY, RATES, strict=True))
HOURS = ("gpu_hours", "core_hours")
SPLIT = (*MONEY, "gpu_hours")
ALLOCATION_NUMBERS = ["gpus", "cores", "seconds", *RATES, "kept_frac", *HOURS]
ALLOCATION_NUMBERS += [f"{part}_{m}" for part in ("gpu", "sandbox") for m in MONEY]
ALLOCATION_NUMBERS += [*MONEY, *(f"{name}_kept" for name in SPLIT)]
ALLOCATIONS = ["run", "attempt", "pool", "role", "platform", "seconds_basis", "source", "own_price_id"]
ALLOCATIONS += [*PRICE_COLUMNS[:4], "sandbox", "status", "cause", "keep_step", *ALLOCATION_NUMBERS]
RUN_TEXTS = ["run", "campaign", "framework", "algorithm", "mode", "llm", "synthetic", "shipped_checkpoint"]
RUN_TEXTS += ["basis"]
RUN_NUMBERS = [*HOURS, "gpu_hours_billed", *MONEY, "sandbox_usd", "booked_usd", "lost_usd", "lineage_frac"]
RUN_NUMBERS += [f"{m}_{b}" for m in MONEY for b in ("compute", "campaign", "full")]
RUN_NUMBERS += ["credits_usd", "usd_net", *GOODPUT_SUMS, "goodput_frac", "goodput_most_frac"]
RUN_NUMBERS += ["goodput_least_frac"]
RUNS = [*RUN_TEXTS, *RUN_NUMBERS, "clock"]
CAMPAIGN_SUMS = [*HOURS, *MONEY, "usd_compute", "usd_campaign", "usd_full", "credits_usd", "usd_net"]
CAMPAIGN_SUMS += ["sandbox_usd", "lost_usd"]
CAMPAIGN_SUMS += GOODPUT_SUMS
CAMPAIGNS = ["campaign", *CAMPAIGN_SUMS, "booked_to_campaign_usd", "goodput_frac", "goodput_most_frac"]
CAMPAIGNS += ["goodput_least_frac", "runs"]
NO_COSTS = {"amount": 0.0, "credit": 0.0}
NO_BOOKED = "full_without_costs"
LINEAGE_UNKNOWN = "lineage_unknown"
LOST = ["run", "attempt", "cause", "gpu_hours", "usd", "usd_most", "resumption"]


@dataclass(frozen=True)
class Spend:
    """Cost of the picked runs. Dollars are null where a price is missing.

    `allocations`: a row an allocation: gpu_hours, core_hours, gpu_usd, sandbox_usd, usd, usd_low, usd_high,
    kept_frac, usd_kept and the price columns. `attempts`: a row an attempt with its lineage and step sums.
    `runs`: a row a run: gpu_hours, usd, usd_low, usd_high at the asked boundary; usd_compute, usd_campaign,
    usd_full, credits_usd (0 or less) and usd_net; lost_usd, lineage_frac; goodput_frac (missing where no
    clock says how long the GPUs were held;
    goodput_most_frac is then what it is at most, goodput_least_frac what it is at least where a resumption is
    assumed); basis (rent, metered: dollars from tokens and no GPU hours, or both). `lost`: run, attempt,
    cause, gpu_hours, usd; where a resumption is assumed the most that it could be (usd_most) and the badge
    (resumption). `campaigns`: the same sums by campaign, with what was booked to the campaign alone.
    `lines`: what each run's dollars are made of (SPEND_LINES), every
    attempt counted. `rows`: the allocations as rows, `bills`: token bills by attempt.
    """

    allocations: pd.DataFrame
    attempts: pd.DataFrame
    runs: pd.DataFrame
    campaigns: pd.DataFrame
    lost: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    rows: tuple[Row, ...]
    lines: pd.DataFrame
    bills: tuple[Row, ...] = ()


def filters_of(params: CommonParams) -> Filters:
    """The picked runs and platforms of shared parameters."""
    return Filters(tuple(params.runs), tuple(params.platforms))


def tries_of(spend: Spend) -> dict[tuple[str, int], Row]:
    """Attempts of a spend as rows, by run and attempt."""
    return {(row["run"], row["attempt"]): row for row in records(spend.attempts)}


def compute_spend(view: View, params: CommonParams, pricing: Pricing | None = None) -> Spend:
    """Price the picked runs at `params.price` inside `params.boundary`; `pricing`: at other prices."""
    pricing = pricing or Pricing(view.catalogue, params.price)
    filters = filters_of(params)
    attempts = queries.attempts(view, filters)
    tries = {(row["run"], row["attempt"]): row for row in records(attempts)}
    asked = pricing.asked(records(queries.allocations(view, filters)))
    priced, assumptions, notices = price_rows(asked, pricing.catalogue, pricing.price)
    rows = tuple(_cost(row, tries.get((row["run"], row["attempt"]), {})) for row in priced)
    booked, booked_notices = _usd_only(records(queries.booked(view, filters)))
    heads = records(queries.runs(view, filters))
    bills = metered_costs(view, filters, heads)
    runs = _by_run(heads, rows, tries, booked, bills, params.boundary)
    _name_bases(runs, rows, pricing.catalogue)
    extra = _full_notices(view, filters, runs, booked) if params.boundary == "full" else []
    told = contradicted(view.rows, [row["run"] for row in runs])
    extra += [Notice("gpus_contradicted", words, run) for run, words in sorted(told.items())]
    extra += [
        Notice("jobs_unclear", row["note"], row["run"]) for row in records(queries.job_notes(view, filters))
    ]
    return Spend(
        allocations=table(rows, ALLOCATIONS, ALLOCATION_NUMBERS),
        attempts=attempts,
        runs=table(runs, RUNS, RUN_NUMBERS).astype({"synthetic": bool, "clock": "boolean"}),
        campaigns=table(_by_campaign(runs, booked, params.boundary), CAMPAIGNS, CAMPAIGNS[1:-1]),
        lost=table(_lost(rows, bills, tries), LOST, LOST[3:6]),
        assumptions=(*assumptions, *bills.assumptions),
        notices=(*notices, *booked_notices, *bills.notices, *extra, *_notices(rows, tries, runs)),
        rows=rows,
        lines=spend_lines(rows, booked, bills.rows),
        bills=bills.rows,
    )


def _cost(row: Row, attempt: Row) -> Row:
    """Hours and dollars of one allocation, whole and on the surviving lineage."""
    sandbox, hours = row["sandbox"], number(row["seconds"]) / 3600
    gpus, cores = number(row["gpus"]), number(row["cores"])
    gpu_hours = 0.0 if sandbox and not gpus > 0 else gpus * hours
    core_hours = cores * hours if sandbox and known(cores) else 0.0
    kept = number(attempt.get("kept_frac"))
    out = {**row, "gpu_hours": gpu_hours, "core_hours": core_hours, "kept_frac": kept if known(kept) else 0.0}
    out |= {name: attempt.get(name) for name in ("status", "cause", "keep_step")}
    for name, rate_name in RATE_OF.items():
        rate = number(row[rate_name])
        gpu = 0.0 if sandbox or gpu_hours == 0 else gpu_hours * rate
        core = core_hours * rate if sandbox and core_hours > 0 and known(rate) else 0.0
        out |= {f"gpu_{name}": gpu, f"sandbox_{name}": core, name: gpu + core}
    return out | {f"{name}_kept": out[name] * out["kept_frac"] for name in SPLIT}


def _usd_only(booked: list[Row]) -> tuple[list[Row], tuple[Notice, ...]]:
    """Keep dollars that allocations do not price already; say what was left out."""
    notices = []
    foreign = sorted({row["currency"] for row in booked if row["currency"].upper() != "USD"})
    if foreign:
        words = f"Cost rows in {', '.join(foreign)} are not converted and left out."
        notices.append(Notice("currency_left_out", words, "costs"))
    if any(row["bucket"] == "gpu" for row in booked):
        words = "Billed GPU rows are left out of the spend: allocations price the same hours."
        notices.append(Notice("gpu_bill_left_out", words, "costs"))
    kept = [row for row in booked if row["currency"].upper() == "USD" and row["bucket"] != "gpu"]
    return kept, tuple(notices)


def _apart(row: Row) -> Row:
    """A booked row with its amount as a charge or as a credit."""
    charge, credit = (0.0, row["amount"]) if row["credit"] else (row["amount"], 0.0)
    return {**row, "amount": charge, "credit": credit}


def _unbooked_words(row: Row) -> str:
    """'$5.00 booked to gone belongs to no run that is loaded, so no spend holds it.'"""
    amount = money(row["amount"]) if row["currency"] == "USD" else f"{row['amount']:g} {row['currency']}"
    amount += " of credits" if row["kind"] == "credits" else ""
    if row["kind"] == "evals":
        return f"{amount} for evaluating {row['place']} belongs to no run, so no spend holds it."
    if not row["place"]:
        return f"{amount} on lines that name no run and no campaign is in no spend."
    return f"{amount} booked to {row['place']} belongs to no run that is loaded, so no spend holds it."


def _full_notices(view: View, filters: Filters, runs: list[Row], booked: list[Row]) -> list[Notice]:
    """At the full boundary: credits, costs that nobody bears, campaigns without any booked cost row."""
    out = []
    credits = [row["amount"] for row in booked if row["credit"]]
    if credits:
        words = f"Credits of ${-math.fsum(credits):,.2f} are apart: full is what is charged before them."
        out.append(Notice("credits_apart", words, "costs"))
    out += [
        Notice("cost_unbooked", _unbooked_words(row), row["place"] or "costs")
        for row in records(queries.unbooked(view, filters))
    ]
    has = {r["campaign"] or r["run"] for r in booked if r["bucket"] != "evals" and not r["credit"]}
    for owner, kind in sorted(
        {(r["campaign"] or r["run"], "campaign" if r["campaign"] else "run") for r in runs}
    ):
        if owner not in has:
            words = (
                f"No data or staff costs are recorded for {kind} {owner}: full holds pools and evaluations."
            )
            out.append(Notice(NO_BOOKED, words, owner))
    return out


def _by_run(
    runs: list[Row],
    rows: tuple[Row, ...],
    tries: dict[tuple[str, int], Row],
    booked: list[Row],
    bills: Metered,
    boundary: str,
) -> list[Row]:
    names = [*HOURS, "sandbox_usd", *MONEY, *(f"{name}_kept" for name in SPLIT)]
    sums = add_up(rows, lambda r: r["run"], names)
    own = [_apart(row) for row in booked if text(row["run"])]
    extra = add_up(own, lambda r: r["run"], ["amount", "credit"])
    goodput = _goodput(rows, tries)
    clocks: dict[str, bool] = {}
    for row in rows:
        clocks[row["run"]] = clocks.get(row["run"], True) and row["seconds_basis"] == CLOCK
    nothing, metered = dict.fromkeys(names, NAN), bills.by_run()
    out = []
    for run in runs:
        name = run["run"]
        got, basis = _with_bill(sums.get(name), metered.get(name), nothing)
        more = extra.get(name, NO_COSTS)["amount"]
        row = {**run, **{h: got[h] for h in HOURS}, "sandbox_usd": got["sandbox_usd"], "booked_usd": more}
        row["basis"] = basis
        for m in MONEY:
            row |= {f"{m}_compute": got[f"{m}_kept"], f"{m}_campaign": got[m], f"{m}_full": got[m] + more}
            row[m] = row[f"{m}_{boundary}"]
        row["credits_usd"] = extra.get(name, NO_COSTS)["credit"]
        row["usd_net"] = row["usd_full"] + row["credits_usd"]
        row |= {"gpu_hours_billed": got["gpu_hours"], "lost_usd": got["usd"] - got["usd_kept"]}
        share = "usd" if basis == METERED else "gpu_hours"
        row |= {"lineage_frac": ratio(got[f"{share}_kept"], got[share]), "clock": clocks.get(name)}
        if boundary == "compute":
            row["gpu_hours"] = got["gpu_hours_kept"]
        row |= _with_goodput(goodput.get(name, dict.fromkeys(GOODPUT_SUMS, NAN)))
        out.append(row)
    return out


def _name_bases(runs: list[Row], rows: tuple[Row, ...], book: Catalogue) -> None:
    """Say "own" where a pool is paid at a cost of owning: bases are never mixed without a label."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        choice = book.price_by_id(str(row["price_id"])) if text(row["price_id"]) else None
        if choice is not None:
            kinds.setdefault(row["run"], set()).add(OWN if choice.kind == "own_tco" else RENT)
    for run in runs:
        names = kinds.get(run["run"], set())
        if OWN in names:
            run["basis"] = run["basis"].replace(RENT, " + ".join(sorted(names)))


def _with_bill(
    held: dict[str, float] | None, bill: dict[str, float] | None, nothing: dict[str, float]
) -> tuple[dict[str, float], str]:
    """Sums of a run's pools with its token bill on top, and what its dollars are made of."""
    if bill is None:
        return (nothing, "") if held is None else (held, RENT)
    paid = dict.fromkeys(MONEY, bill["usd"]) | {f"{m}_kept": bill["usd_kept"] for m in MONEY}
    if held is None:
        return {**nothing, "sandbox_usd": 0.0, **paid}, METERED
    return {**held, **{name: held[name] + usd for name, usd in paid.items()}}, f"{RENT} + {METERED}"


def _goodput(rows: tuple[Row, ...], tries: dict[tuple[str, int], Row]) -> dict[str, dict[str, float]]:
    """GOODPUT_SUMS by run: GPU-seconds inside kept steps, those that are timed, those that were billed, and
    inside the steps that are kept whatever was assumed.

    Time that is only that of the steps or of the log is a part of what was billed, so it divides nothing.
    """
    gpu = [row for row in rows if number(row["gpus"]) > 0]
    held = add_up(gpu, lambda r: (r["run"], r["attempt"], r["pool"]), ["seconds"])
    rest = resting(tries)
    parts = []
    for row in gpu:
        attempt = tries.get((row["run"], row["attempt"]), {})
        timed, kept = number(attempt.get("step_s")), number(attempt.get("step_s_kept"))
        lost = number(attempt.get("kept_frac")) == 0
        steps_s = 0.0 if lost else NAN if not known(timed) else kept if known(kept) else 0.0
        share = ratio(number(row["seconds"]), held[row["run"], row["attempt"], row["pool"]]["seconds"])
        gpu_s = row["gpus"] * number(row["seconds"])
        billed = gpu_s if row["seconds_basis"] in HELD_BASES else NAN
        useful = row["gpus"] * steps_s * share
        sure = 0.0 if (row["run"], row["attempt"]) in rest else useful
        amounts = (useful, gpu_s, billed, sure)
        parts.append({"run": row["run"], **dict(zip(GOODPUT_SUMS, amounts, strict=True))})
    return add_up(parts, lambda r: r["run"], GOODPUT_SUMS)


def _with_goodput(sums: Mapping[str, float]) -> dict[str, float]:
    """GOODPUT_SUMS with the share that they make of what was billed, and of what is timed: its upper end."""
    useful, timed, billed, sure = (sums[name] for name in GOODPUT_SUMS)
    shares = {"goodput_frac": ratio(useful, billed), "goodput_most_frac": min(1.0, ratio(useful, timed))}
    shares["goodput_least_frac"] = ratio(sure, billed)
    return {**{name: sums[name] for name in GOODPUT_SUMS}, **shares}


def _by_campaign(runs: list[Row], booked: list[Row], boundary: str) -> list[Row]:
    shares = [_apart(row) for row in booked if not text(row["run"])]
    alone = add_up(shares, lambda r: r["campaign"], ["amount", "credit"])
    out = []
    for campaign, got in sorted(add_up(runs, lambda r: r["campaign"], CAMPAIGN_SUMS).items()):
        shared, credits = (alone.get(campaign, NO_COSTS)[name] for name in NO_COSTS)
        row: Row = {"campaign": campaign, **got, "booked_to_campaign_usd": shared}
        for name in ("usd_full", *(MONEY if boundary == "full" else ())):
            row[name] += shared
        row["credits_usd"] += credits
        row["usd_net"] = row["usd_full"] + row["credits_usd"]
        row |= _with_goodput(got)
        out.append({**row, "runs": sum(1 for run in runs if run["campaign"] == campaign)})
    return out


def _lost(rows: tuple[Row, ...], bills: Metered, tries: dict[tuple[str, int], Row]) -> list[Row]:
    """Dollars and GPU-hours outside the surviving lineage, by attempt and cause."""
    parts = [
        {
            "key": (r["run"], r["attempt"], text(r["cause"]) or text(r["status"]) or "not stated"),
            "gpu_hours": r["gpu_hours"] - r["gpu_hours_kept"],
            "usd": r["usd"] - r["usd_kept"],
        }
        for r in rows
        if r["kept_frac"] < 1
    ]
    for bill in bills.rows:
        if bill["usd_kept"] < bill["usd"]:
            end = tries.get((bill["run"], bill["attempt"]), {})
            key = (
                bill["run"],
                bill["attempt"],
                text(end.get("cause")) or text(end.get("status")) or "not stated",
            )
            parts.append({"key": key, "gpu_hours": NAN, "usd": bill["usd"] - bill["usd_kept"]})
    sums = add_up(parts, lambda r: r["key"], ["gpu_hours", "usd"])
    whole = add_up(rows, lambda r: (r["run"], r["attempt"]), ["usd"])
    rest = resting(tries)
    out = []
    for key, got in sorted(sums.items()):
        assumed = key[:2] in rest
        bound = {"usd_most": whole[key[:2]]["usd"] if assumed else got["usd"]}
        out.append(
            dict(zip(LOST, key, strict=False)) | got | bound | {"resumption": ASSUMED if assumed else ""}
        )
    return out


def _notices(rows: tuple[Row, ...], tries: dict[tuple[str, int], Row], runs: list[Row]) -> list[Notice]:
    out = []
    bases: dict[str, set[str]] = {}
    for row in rows:
        if row["seconds_basis"] != CLOCK and known(number(row["seconds"])):
            basis = text(row["seconds_basis"]) or ""
            bases.setdefault(row["run"], set()).add(BASIS_WORDS.get(basis, "a source that is not named"))
    for run, names in sorted(bases.items()):
        words = (
            f"Time of {run} comes from {listing(sorted(names))}, not from a start and an end: its spend is a "
            "lower bound (start-up, gaps and shut-down may be missing)."
        )
        out.append(Notice("time_lower_bound", words, run))
    allocated = {row["run"] for row in rows}
    open_runs = [r["run"] for r in runs if not known(r["gpu_hours_billed"]) and r["basis"] != METERED]
    for run in open_runs:
        some = run in allocated
        lacking = "how long it held its GPUs, or how many" if some else "its pools (role, platform, GPUs)"
        out.append(Notice("cost_unknown", f"{run} has no cost: fill in {lacking} in the run details.", run))
    for run in sorted({run for (run, _), row in tries.items() if not known(number(row["kept_frac"]))}):
        words = (
            f"What survives of an interrupted attempt of {run} is not known (no resume step or no step "
            "times), so none of it counts as surviving."
        )
        out.append(Notice(LINEAGE_UNKNOWN, words, run))
    out += resumption_notices(rows, tries)
    return [*out, *synthetic_notice(row["run"] for row in runs if row["synthetic"])]


def synthetic_notice(runs: Iterable[str]) -> list[Notice]:
    """The notice that these runs are made up; none without runs."""
    made_up = list(runs)
    if not made_up:
        return []
    words = f"{listing(made_up)} {'is' if len(made_up) == 1 else 'are'} synthetic example data."
    return [Notice("synthetic", words, "; ".join(made_up))]
