"""Checks of what a file says about itself, each with a name, a sentence and a place in docs/checks.md."""

from dataclasses import dataclass

import pandas as pd

from analysis.frames import records
from analysis.params import CommonParams
from analysis.result import Notice
from analysis.words import digits3, percent
from data.catalogue import Catalogue
from data.queries import checks as queries
from data.queries.filters import Filters
from data.view import View

COLUMNS = queries.COLUMNS
MFU_CEILING = 0.7
GIB = 2**30
KNOWN_PEAKS = dict.fromkeys(("prime-rl", "verl"), ("a100", "h100", "h200", "b200", "gb200"))
"""Platforms that a framework's own table of peak rates holds (prefixes of platform ids)."""


@dataclass(frozen=True)
class Check:
    """A check: `title` in a few words, `says` the sentence with what it means for the numbers, `touches` the
    questions whose numbers it qualifies.
    """

    code: str
    title: str
    says: str
    touches: tuple[str, ...]


_TIME = ("ledger", "bottleneck", "rollouts", "unit_economics")
_RATES = ("bottleneck", "rollouts")
CHECKS = {
    check.code: check
    for check in (
        Check(
            "throughput_against_tokens",
            "Throughput identity",
            "The logged rate times the GPUs and the step time does not give the logged tokens.",
            _RATES,
        ),
        Check(
            "rate_of_cluster",
            "Per GPU or cluster",
            "The rate is named per GPU, but it is that of all GPUs together: without the number of GPUs it "
            "fits the tokens.",
            _RATES,
        ),
        Check(
            "rate_of_one_gpu",
            "Per GPU or cluster",
            "The rate is named as the cluster's, but it is that of one GPU: times the number of GPUs it fits "
            "the tokens.",
            _RATES,
        ),
        Check(
            "phases_exceed_step",
            "Phases against the step",
            "The phases add up to more than the step: timers overlap or one lies inside another.",
            ("bottleneck", "rollouts"),
        ),
        Check(
            "step_time_against_clock",
            "Step time against the clock",
            "The step timer covers only a part of the clock: the rest passes between steps, and costs money.",
            _TIME,
        ),
        Check(
            "steps_missing",
            "Missing steps",
            "Step numbers are missing: what these steps took and cost is in no sum.",
            _TIME,
        ),
        Check(
            "looks_cumulative",
            "Cumulative or per step",
            "A count that should be one step's rises at every step like a running total.",
            ("rollouts", "unit_economics", "ledger"),
        ),
        Check(
            "percent_in_a_ratio",
            "Percent or fraction",
            "A key that is named a ratio holds values above 1: it may be percent.",
            ("rollouts", "learning"),
        ),
        Check(
            "scores_in_two_units",
            "Percent or fraction",
            "Scores of one benchmark come in two units, so they are not compared with each other.",
            ("gain", "learning", "ledger"),
        ),
        Check(
            "memory_above_hbm",
            "GiB or GB",
            "More memory is in use than the GPU has: the unit (GiB or GB) or the platform is wrong.",
            ("bottleneck", "utilisation"),
        ),
        Check(
            "mfu_implausible",
            "MFU from a doubtful peak",
            "The logged MFU is higher than training runs reach: its peak rate or its FLOPs are wrong.",
            ("bottleneck", "rollouts"),
        ),
        Check(
            "mfu_peak_unknown",
            "MFU from an unknown peak",
            "The framework's own table of peak rates does not hold this platform, so its MFU is not usable.",
            ("bottleneck", "rollouts"),
        ),
        Check(
            "warm_up_steps",
            "Warm-up steps",
            "The first steps took much longer than the median: forecasts use the median, bills the sum.",
            ("bottleneck", "rollouts"),
        ),
        Check(
            "slow_steps",
            "Slow steps",
            "A step took more than three times the median: a hang or a wait is in the seconds of the phase "
            "it fell into, and in every average of steps.",
            ("bottleneck", "rollouts", "projection"),
        ),
    )
}


def find_checks(view: View, filters: Filters, question: str) -> pd.DataFrame:
    """Every check that failed and touches `question`, in columns COLUMNS, sorted by run, attempt and step.

    `subject`: the key or column it is about, '' where the check names it; units are those of the subject.
    """
    wanted = {code for code, check in CHECKS.items() if question in check.touches}
    sources = (
        (("phases_exceed_step", "throughput_against_tokens", "rate_of_cluster"), queries.by_step),
        (("step_time_against_clock", "steps_missing"), queries.coverage),
        (("looks_cumulative",), queries.counters),
        (("percent_in_a_ratio", "scores_in_two_units"), queries.ratios),
        (("warm_up_steps", "slow_steps"), queries.uneven),
    )
    found = [source(view, filters) for codes, source in sources if wanted & set(codes)]
    if wanted & {"memory_above_hbm", "mfu_implausible", "mfu_peak_unknown"}:
        found.append(_peaks(queries.peaks(view, filters), view.catalogue))
    kept = [frame[frame["check_name"].isin(wanted)] for frame in found if len(frame)]
    if not kept:
        return pd.DataFrame(columns=COLUMNS)
    out = pd.concat(kept, ignore_index=True)[COLUMNS]
    return out.sort_values(["run", "attempt", "step", "check_name"], kind="stable", ignore_index=True)


def checked(view: View, params: CommonParams) -> tuple[pd.DataFrame, list[Notice]]:
    """The failed checks that qualify the answer to `params`, as a table and as notices."""
    filters = Filters(tuple(params.runs), tuple(params.platforms))
    found = find_checks(view, filters, params.question)
    return found, notices(found)


def notices(table: pd.DataFrame) -> list[Notice]:
    """One notice a run and check, with the numbers of the first case and how many there are."""
    out = []
    for (run, code), group in table.groupby(["run", "check_name"], sort=True):
        check = CHECKS[str(code)]
        first = group.iloc[0]
        more = len(group) - 1
        many = f" (and {more:,} more like it)" if more else ""
        out.append(Notice(check.code, f"{run}: {check.says} {_numbers(first)}{many}.", str(run)))
    return out


def _numbers(row: pd.Series) -> str:
    """What was expected and found, with units, in one clause."""
    code, expected, found = str(row["check_name"]), float(row["expected"]), float(row["found"])
    subject = str(row["subject"])
    step = "" if pd.isna(row["step"]) else f"Step {int(row['step'])}: "
    if code in ("throughput_against_tokens", "rate_of_cluster", "rate_of_one_gpu"):
        return f"{step}{digits3(found)} tokens by the rate, {digits3(expected)} logged"
    if code == "phases_exceed_step":
        return f"{step}{digits3(found)} s in phases, {digits3(expected)} s in the step"
    if code == "step_time_against_clock":
        return f"{percent(found / expected)} of {digits3(expected)} s is inside steps"
    if code == "steps_missing":
        return f"{int(found):,} of {int(expected):,} step numbers are there"
    if code == "slow_steps":
        return f"{step}{digits3(found)} s, {digits3(expected)} s is usual"
    if code == "warm_up_steps":
        return f"{step}{digits3(found)} s on average over {int(row['steps'])}, {digits3(expected)} s is usual"
    if code == "memory_above_hbm":
        return f"{digits3(found / GIB)} GiB used, {subject} has {digits3(expected / GIB)} GiB"
    if code in ("mfu_implausible", "mfu_peak_unknown"):
        return f"MFU {percent(found)} on {subject}"
    if code == "looks_cumulative":
        return f"{subject} goes from {digits3(expected)} to {digits3(found)} in {int(row['steps'])} steps"
    return f"{subject}: from {digits3(expected)} to {digits3(found)}"


def _peaks(rows: pd.DataFrame, catalogue: Catalogue) -> pd.DataFrame:
    """Memory above the HBM of the platform, and MFU that its framework cannot know."""
    out = []
    for row in records(rows):
        base = {"run": row["run"], "attempt": row["attempt"], "step": pd.NA, "subject": row["platform"]}
        base |= {"steps": row["steps"]}
        capacity = _hbm_bytes(catalogue, str(row["platform"]))
        if capacity and row["mem_bytes"] and row["mem_bytes"] > 1.001 * capacity:
            found = {"expected": capacity, "found": row["mem_bytes"]}
            out.append({**base, "check_name": "memory_above_hbm", **found})
        if not row["mfu"] or pd.isna(row["mfu"]):
            continue
        mfu = {**base, "expected": MFU_CEILING, "found": row["mfu"]}
        known = KNOWN_PEAKS.get(str(row["framework"]))
        if known is not None and not str(row["platform"]).startswith(known):
            out.append({**mfu, "check_name": "mfu_peak_unknown"})
        elif row["mfu"] > MFU_CEILING:
            out.append({**mfu, "check_name": "mfu_implausible"})
    return pd.DataFrame(out, columns=COLUMNS)


def _hbm_bytes(catalogue: Catalogue, platform: str) -> float | None:
    """The largest capacity that any source gives one GPU, its label read as GiB."""
    labels = (fact.number for fact in catalogue.fact_rows(platform, "hbm_gb"))
    return max((value * GIB for value in labels if value is not None), default=None)
