"""What was paid for GPUs, and what became of it: not allocated, idle, stalled, working or unknown."""

from typing import Annotated, ClassVar

import pandas as pd
from pydantic import Field

from analysis.checks import checked
from analysis.common import nothing, result
from analysis.frames import Row, records, table
from analysis.kept import kept
from analysis.ladder import IDENTITY, LADDER, ON_RUNGS, WATERFALL, identity, ladder, on_rungs, waterfall
from analysis.moneyparams import WITH, MoneyParams
from analysis.result import Notice, Result
from analysis.resumed import paid_notices
from analysis.shares import by_attempt, load_shares
from analysis.spend import Spend, compute_spend, synthetic_notice, tries_of
from analysis.waste_held import unbilled
from analysis.waste_inside import Inside, idle_bubble, phase_weights, read_inside, without_idle
from analysis.waste_lineage import lineage_ends
from analysis.waste_owners import read_clocks
from analysis.waste_parts import (
    BARS,
    Bill,
    Cut,
    Sheet,
    by_who,
    cut_bill,
    in_cents,
    of_run,
    spell_rows,
    split_of,
    who,
)
from analysis.waste_samples import read_evidence
from analysis.waste_spells import COLUMNS as SPELLS
from analysis.waste_spells import MACHINES, MOST_EVENTS, events, machines
from analysis.waste_track import TRACK, track_of
from analysis.waste_words import Answered, answer, figures, notices
from data.queries.bills import synthetic
from data.queries.filters import Filters
from data.view import View
from models.cents import apportion
from models.stalls import Thresholds
from models.waste import Split

Frac = Annotated[float, Field(ge=0, le=1)]
Minutes = Annotated[float, Field(ge=0, le=1440)]
USUAL = Thresholds()
MOST_PHASE_RUNS = 20
RUN_NUMBERS = ["usd", *(f"{b}_usd" for b in BARS), "working_usd", "waste_high_usd", "gpu_hours"]
RUN_NUMBERS += ["coverage_frac", "idle_bubble_gpu_h"]
RUNS = ["who", "run", *RUN_NUMBERS]
BEHIND = ["bar", "who", "run", "usd"]
PHASES = ["run", "phase", "frac", "usd"]
THRESHOLDS = ["threshold", "value", "unit", "default", "meaning"]


class WasteParams(MoneyParams):
    """`run`: one run, whose charges alone are split; empty: the whole bill (chosen runs and platforms do not
    narrow a bill). The others say when a GPU counts as idle or stalled: ratios 0..1, times in minutes.
    """

    question: ClassVar[str] = "waste"
    run: str = ""
    idle_sm_frac: Frac = USUAL.idle_sm_frac
    idle_min: Minutes = USUAL.idle_s / 60
    stall_min: Minutes = USUAL.stall_s / 60
    stall_util_frac: Frac = USUAL.stall_util_frac
    stall_tensor_frac: Frac = USUAL.stall_tensor_frac
    stall_dram_frac: Frac = USUAL.stall_dram_frac
    stall_power_frac: Frac = USUAL.stall_power_frac
    frozen_steps: Annotated[float, Field(ge=1, le=1000)] = USUAL.frozen_steps
    frozen_min: Minutes = USUAL.frozen_s / 60


MEANINGS = {
    "idle_sm_frac": "idle below this SM activity (where it is not recorded: GPU-Util 0)",
    "idle_min": "idle only when it lasts this long; shorter pauses are working time",
    "stall_min": "stalled only when the signals last this long",
    "stall_util_frac": "GPU-Util from here on looks busy",
    "stall_tensor_frac": "a busy looking GPU with less tensor activity and ...",
    "stall_dram_frac": "... less memory activity than this stands still",
    "stall_power_frac": "a busy looking GPU that draws less of its power limit stands still",
    "frozen_steps": "the step counter is frozen after this many median steps ...",
    "frozen_min": "... but not before this time",
}


def limits_of(params: WasteParams) -> Thresholds:
    """Thresholds of the model, in seconds."""
    return Thresholds(
        idle_sm_frac=params.idle_sm_frac,
        idle_s=60 * params.idle_min,
        stall_s=60 * params.stall_min,
        stall_util_frac=params.stall_util_frac,
        stall_tensor_frac=params.stall_tensor_frac,
        stall_dram_frac=params.stall_dram_frac,
        stall_power_frac=params.stall_power_frac,
        frozen_steps=params.frozen_steps,
        frozen_s=60 * params.frozen_min,
    )


@kept
def compute(view: View, params: WasteParams) -> Result:
    """Tables: `identity` (five parts that add up to the GPU charges to the cent), `ladder`, `waterfall`,
    `behind` (who is behind each bar), `on_rungs` (who is on each rung), `runs`, `stalls`, `idle`, `machines`,
    `phases`, `track` (phases of the one run over time), `thresholds`.
    """
    whose = {"example": WITH} if params.run in synthetic(view) else {}
    found = load_shares(view, params.model_copy(update=whose))
    listed = of_run(found, params.run)
    if not listed:
        return _nothing_paid(view, params) if params.run else nothing("waste", view, params, EMPTY)
    limits = limits_of(params)
    filters = Filters(runs=(params.run,) if params.run else ())
    spend = compute_spend(view, params.model_copy(update={"runs": filters.runs, "platforms": ()}))
    clocks = read_clocks(view, filters, found.start, found.end, limits, found.scope)
    evidence = read_evidence(view, filters, (found.start, found.end), limits, clocks, found.scope)
    inside = read_inside(view, spend, filters, limits)
    bill = cut_bill(listed, found.has_scheduler, evidence, inside, None if params.run else found.gpu_usd)
    unproven = sum(c.unproven for c in bill.cuts)
    sheet = in_cents(bill)
    ends = lineage_ends(bill, inside, float(sheet.bar("productive")), float(sheet.bar("lost")))
    beyond = unbilled(view, found, listed, params.run)
    told = Answered(params.run, found, bill, sheet, split_of(bill.cuts), evidence, unproven, ends, beyond)
    made_up = synthetic(view) & {s.run for s in listed if s.run}
    said = [*found.notices, *notices(told), *synthetic_notice(sorted(made_up))]
    said += checked(view, params)[1] if params.run else []
    said += paid_notices(tries_of(spend), by_attempt(listed))
    track, why_none = track_of(view, params.run)
    said += why_none
    return result(
        "waste", view, params, answer(told), headline=figures(told),
        tables={**_tables(view, params, told, inside, spend), "track": track},
        assumptions=[*found.assumptions, *evidence.assumptions],
        notices=[n for n in said if not (params.run and n.code == "bill_is_whole")],
        prices=pd.DataFrame({"price_id": list(found.price_ids)}),
    )  # fmt: skip


def _nothing_paid(view: View, params: WasteParams) -> Result:
    """The answer for a run that no charge and no priced allocation of the period names."""
    words = f"Nothing paid in this period names {params.run}: load its bill, or fill in its pools and prices."
    bare = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    track, why_none = track_of(view, params.run)
    said = [Notice("no_match", words, params.run), *why_none]
    return result("waste", view, params, words, tables={**bare, "track": track}, notices=said)


def _tables(
    view: View, params: WasteParams, told: Answered, inside: Inside, spend: Spend
) -> dict[str, pd.DataFrame]:
    bill, sheet, evidence = told.bill, told.sheet, told.evidence
    spells = {kind: spell_rows(evidence, bill, kind) for kind in ("stalled", "idle")}
    return {
        "identity": identity(told.split, sheet, told.unproven),
        "ladder": ladder(bill, sheet, told.found.has_scheduler, told.basis),
        "waterfall": waterfall(bill, sheet, told.unproven, told.ends),
        "runs": _runs(bill, sheet, inside),
        "stalls": events(spells["stalled"], sheet.bar("stalled")).head(MOST_EVENTS),
        "idle": events(spells["idle"], sheet.bar("idle")).head(MOST_EVENTS),
        "machines": machines([*spells["stalled"], *spells["idle"]]).head(MOST_EVENTS),
        "phases": _phases(view, spend, bill, sheet),
        "behind": _behind(bill, sheet),
        "on_rungs": on_rungs(bill, sheet, told.found.has_scheduler),
        "thresholds": _thresholds(params),
    }


EMPTY = {
    "identity": IDENTITY,
    "ladder": LADDER,
    "waterfall": WATERFALL,
    "runs": RUNS,
    "stalls": SPELLS,
    "idle": SPELLS,
    "machines": MACHINES,
    "phases": PHASES,
    "behind": BEHIND,
    "on_rungs": ON_RUNGS,
    "track": TRACK,
    "thresholds": THRESHOLDS,
}


def _thresholds(params: WasteParams) -> pd.DataFrame:
    rows = []
    for name, meaning in MEANINGS.items():
        unit = "ratio" if name.endswith("_frac") else "min" if name.endswith("_min") else "steps"
        standard = WasteParams.model_fields[name].default
        value = getattr(params, name)
        rows.append(
            {"threshold": name, "value": value, "unit": unit, "default": standard, "meaning": meaning}
        )
    return table(rows, THRESHOLDS, ["value", "default"])


def _runs(bill: Bill, sheet: Sheet, inside: Inside) -> pd.DataFrame:
    """A row a run, job and nobody (who = ''), the dearest first; dollars are those of the sheet."""
    rows: list[Row] = []
    groups = by_who(bill.cuts)
    for name in sheet.names:
        cuts = groups[name]
        usd = {bar: float(value) for bar, value in sheet.row(name).items()}
        split = split_of(cuts)
        run = cuts[0].share.run
        waste = usd["not_allocated"] + usd["idle"] + usd["stalled"]
        row = {"who": name, "run": run, "usd": float(sum(sheet.row(name).values()))}
        row |= {f"{bar}_usd": value for bar, value in usd.items()}
        row["working_usd"] = float(sum(sheet.row(name)[b] for b in ("bubble", "lost", "productive")))
        row["waste_high_usd"] = waste + usd["unknown"] + sum(c.unproven for c in cuts)
        row |= {"gpu_hours": _hours(split, cuts), "coverage_frac": split.coverage}
        row["idle_bubble_gpu_h"] = idle_bubble(inside, run) / 3600 if run else None
        rows.append(row)
    rows.sort(key=lambda r: (-r["usd"], r["who"]))
    return table(rows, RUNS, RUN_NUMBERS)


def _hours(split: Split, cuts: list[Cut]) -> float | None:
    return None if any(c.share.gpu_s is None for c in cuts) else split.paid / 3600


def _behind(bill: Bill, sheet: Sheet) -> pd.DataFrame:
    """Who is behind each bar, most dollars first; the rows of a bar add up to it."""
    runs = {who(c.share): c.share.run for c in bill.cuts}
    rows: list[Row] = [
        {"bar": bar, "who": name, "run": runs[name], "usd": float(sheet.row(name)[bar])}
        for bar in BARS
        for name in sheet.names
        if sheet.row(name)[bar] != 0
    ]
    rows.sort(key=lambda r: (BARS.index(r["bar"]), -r["usd"], r["who"]))
    return table(rows, BEHIND, ["usd"])


def _phases(view: View, spend: Spend, bill: Bill, sheet: Sheet) -> pd.DataFrame:
    """Productive dollars of a run over the phases of its clocks, in cents that add up to its productive work;
    the phases are those of the log, in proportion to their GPU time on the surviving lineage. What samples
    show as idle is taken off the time outside of steps, where a run that does nothing is.
    """
    rows: list[Row] = []
    groups = by_who(bill.cuts)
    runs = [str(r["run"]) for r in records(spend.runs) if r["run"] in groups]
    for run in sorted(runs, key=lambda n: (-sheet.row(n)["productive"], n))[:MOST_PHASE_RUNS]:
        usd, weights = sheet.row(run)["productive"], phase_weights(view, spend, run)
        if usd <= 0 or not weights:
            continue
        weights = without_idle(weights, split_of(groups[run]))
        whole = sum(weights.values())
        for (phase, weight), amount in zip(
            weights.items(), apportion(usd, list(weights.values())), strict=True
        ):
            rows.append({"run": run, "phase": phase, "frac": weight / whole, "usd": float(amount)})
    return table(rows, PHASES, ["frac", "usd"])
