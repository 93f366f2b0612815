"""The sentence and the four figures: what a campaign cost, what it gained, and dollars per point."""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.common import figure
from analysis.evaluations import Evaluations
from analysis.frames import lookup
from analysis.metered import METERED
from analysis.pairs import CANNOT_TELL, NOT_DISTINGUISHABLE, Floats, Gains
from analysis.params import CommonParams
from analysis.result import Figure, Notice
from analysis.spend import NO_BOOKED, Spend
from analysis.words import listing, money, percent, plural, plus_minus, price_words
from models.draws import money_draws
from models.stats import ratio_by_draws

ALL_OF_IT = 0.995
"""An upper end of goodput from here on is 100 % on screen and says nothing."""
NO_BASELINE = (
    "no evaluation of the checkpoint the money started from; upload one, or compare with the first logged"
)


@dataclass(frozen=True)
class Money:
    """Cost of what the headline is about, at the asked boundary; usd None when price or time is missing.

    `attempts`: how many its runs made. `metered`: nothing but token bills is in it. `part`: where usd is
    None, the sum of the runs that have a cost.
    """

    subject: str
    campaign: str
    usd: float | None
    low: float | None
    high: float | None
    goodput_frac: float | None
    goodput_most_frac: float | None
    goodput_least_frac: float | None
    at_least: bool
    nothing_booked: bool
    missing: str
    runs: tuple[str, ...]
    attempts: int
    metered: bool = False
    part: "Part | None" = None


@dataclass(frozen=True)
class Part:
    """The cost of some runs of a campaign (USD, with its quote range): a sum, and no total.

    `left_out`: the runs whose cost is not known.
    """

    usd: float
    low: float
    high: float
    runs: tuple[str, ...]
    left_out: tuple[str, ...]


def choose_subject(spend: Spend, boundary: str = "campaign") -> Money:
    """The campaign with the greatest known spend among the picked runs, or the only run when it has no
    campaign.
    """
    known = spend.runs.groupby("campaign")["usd"].sum(min_count=1)
    table = spend.campaigns.assign(known=lookup(spend.campaigns["campaign"], known))
    table = table.assign(known=table["usd"].fillna(table["known"])).sort_values(
        ["known", "gpu_hours", "campaign"], ascending=[False, False, True], kind="stable"
    )
    row = table.iloc[0]
    mine = spend.runs[spend.runs["campaign"] == row["campaign"]]
    part = None if pd.notna(row["usd"]) else _part(mine, row, boundary)
    timed = mine if part is None else mine[mine["run"].isin(part.runs)]
    names = tuple(str(r) for r in mine["run"])
    subject = f"Campaign {row['campaign']}" if row["campaign"] else _loose(names)
    known = pd.notna(row["usd"])
    bare = {notice.where for notice in spend.notices if notice.code == NO_BOOKED}
    return Money(
        subject=subject,
        campaign=str(row["campaign"]),
        usd=float(row["usd"]) if known else None,
        low=float(row["usd_low"]) if known else None,
        high=float(row["usd_high"]) if known else None,
        goodput_frac=_or_none(row["goodput_frac"]),
        goodput_most_frac=_or_none(row["goodput_most_frac"]),
        goodput_least_frac=_or_none(row["goodput_least_frac"]),
        at_least=not bool(timed["clock"].fillna(False).all()),
        nothing_booked=all(owner in bare for owner in ([row["campaign"]] if row["campaign"] else names)),
        missing="" if known else why_no_usd(spend, mine),
        runs=names,
        attempts=int(spend.attempts["run"].isin(names).sum()),
        metered=bool((timed["basis"] == METERED).all()),
        part=part,
    )


def _part(mine: pd.DataFrame, campaign: "pd.Series[Any]", boundary: str) -> Part | None:
    """What the runs of a campaign with a cost add up to; None when there is none or nothing is left out."""
    has = mine[mine["usd"].notna()]
    left_out = tuple(str(run) for run in mine.loc[mine["usd"].isna(), "run"])
    if has.empty or not left_out:
        return None
    shared = float(campaign["booked_to_campaign_usd"]) if boundary == "full" else 0.0
    usd, low, high = (math.fsum([*has[name], shared]) for name in ("usd", "usd_low", "usd_high"))
    return Part(usd, low, high, tuple(str(run) for run in has["run"]), left_out)


def _loose(names: tuple[str, ...]) -> str:
    return f"Run {names[0]}" if len(names) == 1 else f"The {len(names)} runs without a campaign"


def why_no_usd(spend: Spend, runs: pd.DataFrame) -> str:
    """Sentence for a missing dollar figure: the runs it is missing for, and the first reason."""
    lacking = [str(r) for r in runs.loc[runs["usd"].isna(), "run"]]
    mine = spend.allocations[spend.allocations["run"].isin(lacking)]
    platforms = set(mine.loc[mine["usd_per_h"].isna(), "platform"].dropna())
    for notice in spend.notices:
        if notice.code == "cost_unknown" and notice.where in lacking:
            more = len(lacking) - 1
            return notice.text + (f" {more} more {plural('run', more)} without cost." if more else "")
        elsewhere = notice.where == "allocations" or notice.where.startswith("price_id")
        if notice.code == "price_missing" and (notice.where in platforms or elsewhere):
            return notice.text
    return f"{', '.join(lacking[:3])}: pools or prices are missing; fill them in the run details."


def choose_gain(
    gains: Gains, evals: Evaluations, money_: Money, shipped: str
) -> tuple[dict[str, Any] | None, str]:
    """The gain the headline quotes and a note when it was picked from several candidates.

    The shipped checkpoint when the campaign names one, else the run with the highest score.
    """
    table = gains.table[gains.table["run"].isin(money_.runs)]
    usable = table[table["gain"].notna()]
    if usable.empty:
        return (None if table.empty else dict(table.iloc[0])), ""
    usable = usable[usable["benchmark_id"] == most_shared(usable)[0]]
    exact = usable[usable["after"] == shipped]
    owners = {row["for_run"] for row in evals.rows if row["checkpoint"] == shipped}
    for found in (exact, usable[usable["run"].isin(owners)] if shipped else exact):
        if len(found):
            return dict(found.sort_values("key", kind="stable").iloc[0]), ""
    best = usable.sort_values(["after_score", "run", "key"], ascending=[False, True, True], kind="stable")
    note = ""
    if best["run"].nunique() > 1:
        note = (
            f"The best of {best['run'].nunique()} runs is quoted: no shipped checkpoint is named, and "
            "picking the highest score inflates the gain."
        )
    return dict(best.iloc[0]), note


def most_shared(table: pd.DataFrame) -> list[str]:
    """Benchmark ids of comparisons: most runs first, among equals most tasks, then by name."""
    runs: dict[str, set[str]] = {}
    tasks: dict[str, float] = {}
    for name, run, n in zip(*(table[c].tolist() for c in ("benchmark_id", "run", "n")), strict=True):
        runs.setdefault(name, set()).add(run)
        tasks[name] = max(tasks.get(name, 0.0), n if n > 0 else 0.0)
    return sorted(runs, key=lambda name: (-len(runs[name]), -tasks[name], name))


def usd_per_point(
    row: dict[str, Any] | None,
    draws: Floats | None,
    usd: float | None,
    low: float | None,
    high: float | None,
    seed: int,
) -> tuple[float | None, float | None, float | None, str]:
    """(value, low, high, missing) of spend / gain in points, 95 % by joint draws; refused when the gain may
    be 0.
    """
    if row is None or row.get("gain") is None or pd.isna(row["gain"]):
        return None, None, None, str(row["reason"]) if row else NO_BASELINE
    if row["verdict"] == "worse":
        return None, None, None, "the score fell, so no point was bought"
    if row["verdict"] == CANNOT_TELL or draws is None:
        return None, None, None, str(row["reason"] or NOT_DISTINGUISHABLE)
    if usd is None or low is None or high is None or pd.isna(usd) or not low > 0:
        return None, None, None, "the spend is not known"
    ratio = ratio_by_draws(draws, money_draws(usd, low, high, len(draws), seed + 1))
    if ratio.low is None or ratio.high is None:
        return None, None, None, NOT_DISTINGUISHABLE
    return usd / float(row["gain"]), 1 / ratio.high, 1 / ratio.low, ""


def figures(
    params: CommonParams,
    spent: Money,
    row: dict[str, Any] | None,
    point: tuple[float | None, float | None, float | None, str],
) -> list[Figure]:
    """Spend, gain, dollars per point, goodput."""
    return [
        figure(
            "spend",
            spent.usd,
            low=spent.low,
            high=spent.high,
            interval=range_kind(spent),
            boundary=params.boundary,
            missing=spent.missing,
        ),
        *_known_figure(params, spent),
        _gain_figure(row),
        figure(
            "usd_per_point",
            point[0],
            low=point[1],
            high=point[2],
            interval="ci95",
            boundary=params.boundary,
            missing=point[3],
        ),
        figure(
            "goodput",
            spent.goodput_frac,
            n=spent.attempts,
            boundary="campaign",  # failed attempts are in it whatever the dollars beside it leave out
            missing=_no_goodput(spent),
            **_goodput_range(spent),
        ),
    ]


def _goodput_range(spent: Money) -> dict[str, Any]:
    """Both ends where a resumption is assumed: without it less survived."""
    least, found = spent.goodput_least_frac, spent.goodput_frac
    if least is None or found is None or not least < found:
        return {}
    return {"low": least, "high": found, "interval": "bounds"}


def _or_none(value: Any) -> float | None:
    return float(value) if pd.notna(value) else None


def _no_goodput(spent: Money) -> str:
    """Why there is no goodput, what it is at most where that says something, and what would make it known."""
    most = spent.goodput_most_frac
    if most is None:
        return "step times or allocated time are missing"
    end = f"it is at most {percent(most)}: " if most < ALL_OF_IT else ""
    return (
        f"{end}the steps are timed, but not how long the GPUs were held. Load the scheduler's jobs (sacct), "
        "or fill in the seconds of the pools in the run details"
    )


def range_kind(spent: Money) -> str:
    """Both ends of the quotes are least values where some of the time is not seen."""
    return "quote_range_least" if spent.at_least else "quote_range"


def _known_figure(params: CommonParams, spent: Money) -> list[Figure]:
    """The sum of what is known, where the spend is not: named after the runs that are not in it."""
    part = spent.part
    if part is None:
        return []
    return [
        figure(
            "spend",
            part.usd,
            name="spend_known",
            label=f"Sum without {listing(part.left_out, 2)}",
            low=part.low,
            high=part.high,
            interval=range_kind(spent),
            boundary=params.boundary,
        )
    ]


def _gain_figure(row: dict[str, Any] | None) -> Figure:
    if row is None or row.get("gain") is None or pd.isna(row["gain"]):
        reason = str(row["reason"]) if row is not None and row["reason"] else NO_BASELINE
        return figure("gain", None, missing=reason, interval="ci95")
    return figure(
        "gain",
        row["gain"],
        label=f"Gain on {row['benchmark']}",
        unit=row["unit"],
        low=row["low"],
        high=row["high"],
        interval="ci95",
        n=int(row["n"]) if pd.notna(row["n"]) else None,
    )


def sentence(
    params: CommonParams,
    spent: Money,
    row: dict[str, Any] | None,
    point: float | None,
    waste_frac: float | None,
    picked: bool = False,
    at_most: bool = False,
) -> str:
    """The answer line; `picked`: the gain is that of the best of several runs; `at_most`: the waste holds
    attempts of which a part may have survived.
    """
    several = not spent.campaign and len(spent.runs) > 1
    head = f"{spent.subject} {'have' if several else 'has'} no dollar figure yet"
    if spent.usd is not None:
        least = "at least " if spent.at_least else ""
        paid = price_words(params.price, params.boundary, spent.metered)
        head = f"{spent.subject} cost {least}{money(spent.usd)} {paid}"
    who = "they" if several else "it"
    text = f"{head} and {_gain_words(row, who)}"
    if spent.part is not None:
        text = f"{_part_words(params, spent)}. {_own_sentence(_gain_words(row, who), who)}"
    if picked:
        text += f" in {'their' if several else 'its'} best run, {row['run'] if row else ''}"
    elif several and row is not None and row.get("gain") is not None and pd.notna(row["gain"]):
        text += f" in {row['run']}, the only run with a comparison"
    if point is not None:
        text += f": {money(point)} per point"
    if spent.usd is None:
        text += f". {spent.missing.rstrip('.')}"
    elif waste_frac is not None and waste_frac > 0:
        most = "up to " if at_most else ""
        text += f"; {most}{percent(waste_frac)} of the money went to waiting and failed attempts"
    if spent.usd is not None and spent.nothing_booked:
        whose = "this campaign" if spent.campaign else "these runs" if several else "this run"
        text += f"; no data or staff costs are recorded for {whose}"
    return text + "."


def _part_words(params: CommonParams, spent: Money) -> str:
    """What the runs with a cost add up to, and which runs are not in that sum."""
    part = spent.part
    if part is None:
        raise ValueError("the spend is not in parts")
    least = "at least " if spent.at_least else ""
    paid = price_words(params.price, params.boundary, spent.metered)
    verb = "is" if len(part.left_out) == 1 else "are"
    head = f"{spent.subject} has no total yet: {len(part.runs)} of its {len(spent.runs)} runs"
    if not spent.campaign:
        head = f"{spent.subject} have no total yet: {len(part.runs)} of them"
    cost = f"cost {least}{money(part.usd)} {paid}"
    return f"{head} {cost}, and {listing(part.left_out, 3)} {verb} not in that sum"


def _own_sentence(words: str, who: str) -> str:
    text = words if words.startswith("what ") else f"{who} {words}"
    return text[0].upper() + text[1:]


def _gain_words(row: dict[str, Any] | None, who: str) -> str:
    if row is None or row.get("gain") is None or pd.isna(row["gain"]):
        reason = str(row["reason"]) if row is not None and row["reason"] else NO_BASELINE
        return f"what {who} gained is not known: {reason.rstrip('.')}"
    where = f"on {row['benchmark']}"
    if row["before_label"] != "start":
        where += " since the first logged evaluation"
    if row["low"] is None or pd.isna(row["low"]):
        return (
            f"moved by {row['gain']:+.3g} {row['unit']} {where}, without an interval because {row['reason']}"
        )
    span = plus_minus(row["gain"], row["low"], row["high"])
    if row["verdict"] == "better":
        return f"gained {span} points {where}"
    if row["verdict"] == "worse":
        return f"lost {plus_minus(-row['gain'], -row['high'], -row['low'])} points {where}"
    return f"moved by {span} points {where}, {NOT_DISTINGUISHABLE}"


def gain_notices(row: dict[str, Any] | None, note: str, missing_runs: list[str]) -> list[Notice]:
    """Warnings about the headline's comparison."""
    out = []
    if note:
        out.append(Notice("best_of_many", note, str(row["run"]) if row else ""))
    out.extend(Notice("no_baseline", f"{run}: {NO_BASELINE}.", run) for run in missing_runs)
    return out
