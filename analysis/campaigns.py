"""What each campaign cost in a period, failed work and shared costs included, and what bought nothing.

Everything is a sum of the shares of `load_shares`, so all tables add up to the bill (basis "bill") or to the
sum of allocations and cost rows (basis "rate") to the cent. Boundaries: compute = pools on the surviving
lineage; campaign = all pools, failed and cancelled attempts included; full = everything a campaign bears
before credits, so that full >= campaign >= compute; net = full with its credits, which adds up to the bill.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import ClassVar, TypeVar

import pandas as pd

from analysis.amounts import AMOUNTS, NUMBERS, amounts
from analysis.campaignruns import BEHIND, behind
from analysis.campaignruns import NUMBERS as BEHIND_NUMBERS
from analysis.campaignwords import answer, figures, notices
from analysis.common import result
from analysis.frames import NAN, Row, known, number, ratio, records, table, text
from analysis.linecents import near_cents
from analysis.lost import (
    BY,
    BY_NUMBERS,
    EVER,
    LOST,
    LOST_NUMBERS,
    Attempts,
    by_dimension,
    load_attempts,
    losses,
    lost_notices,
    lost_rows,
)
from analysis.lost_bridge import COLUMNS as BRIDGE
from analysis.lost_bridge import lost_bridge
from analysis.moneyparams import ALL, MoneyParams
from analysis.result import Result
from analysis.resumed import ASSUMED, paid_notices, resting
from analysis.shares import Shares, by_attempt, load_shares
from analysis.sharing import LINE_WORDS, LINES, MOVED, Line, Sharing, apply_rules, days_of, week_of
from analysis.spend import Spend, compute_spend, tries_of
from data.money.rules import sharing_rules
from data.queries import campaigns as queries
from data.view import View
from models.cents import cents, exact, to_cents, total

STATES = ("failed", "cancelled", "restarted")
LINE_COLUMNS = [f"usd_{name}" for name in LINES]
CAMPAIGN_NUMBERS = [
    "usd_net",
    "usd_full",
    "usd_campaign",
    "usd_compute",
    "usd_compute_low",
    "usd_compute_high",
]
CAMPAIGN_NUMBERS += [*LINE_COLUMNS, "usd_shared_in"]
CAMPAIGN_NUMBERS += [f"usd_{state}" for state in STATES] + ["usd_lost", "gpu_h", "share_frac"]
CAMPAIGNS = ["campaign", "team", "shipped_checkpoint", "runs", *CAMPAIGN_NUMBERS]
WEEKS = ["campaign", "team", "week", "usd"]
TEAMS = ["team", "campaigns", "usd", "share_frac"]
LEDGER_LINES = ["line", "label", "usd", "gpu_h", "share_frac"]
UNALLOCATED = ["what", "how", "owner", "usd", "share_frac"]
TOP = 10
EMPTY = {
    "campaigns": CAMPAIGNS, "weeks": WEEKS, "teams": TEAMS, "lines": LEDGER_LINES, "lost": LOST,
    "lost_by": BY, "top": LOST, "unallocated": UNALLOCATED, "sharing": MOVED,
    "behind": BEHIND, "lost_bridge": BRIDGE, "amounts": AMOUNTS,
}  # fmt: skip
Bearer = tuple[str, str]
K = TypeVar("K", bound=Hashable)
Cells = dict[tuple[Bearer, str, str], Decimal]
Sums = dict[Bearer, dict[str, Decimal]]
CREDITS = "credits"
POOLS = ("gpus", "judge", "sandbox", "tokens")


class CampaignsParams(MoneyParams):
    """No parameters of its own: a bill is shown whole, rules are declared in the workspace."""

    question: ClassVar[str] = "campaigns"


def compute(view: View, params: CampaignsParams) -> Result:
    """Tables: `campaigns`, `weeks`, `teams`, `lines`, `unallocated`, `sharing` (what rules moved), `lost`
    (by run, attempt and kind), `lost_by` (dimension cause, kind, team, campaign, week), `top`, `behind`
    (runs and attempts of each campaign and week), `amounts` (billed and at list rent, by run).
    """
    shares = load_shares(view, params)
    about = {row["campaign"]: row for row in records(queries.campaigns(view))}
    teams = {name: text(row["team"]) or "" for name, row in about.items()}
    period = days_of(shares.start.date(), _end(shares))
    sharing = apply_rules(shares.shares, sharing_rules(view), teams, period)
    attempts = load_attempts(view)
    found = losses(shares.shares, attempts, EVER if shares.period == ALL else (shares.start, shares.end))
    cells = cells_of(sharing.lines)
    sums = _sums(cells)
    spend = compute_spend(view, params.model_copy(update={"runs": (), "platforms": ()}))
    kept, tries = _kept(spend), tries_of(spend)
    lost = _with_resumption(lost_rows(found), resting(tries))
    rows = _campaigns(kept, sharing, sums, attempts, lost, about)
    unallocated = _unallocated(sharing, sums)
    used = {share.run for share in shares.shares if share.run}
    told = [*shares.notices, *sharing.notices, *lost_notices(attempts, used)]
    told += paid_notices(tries, by_attempt(shares.shares))
    return result(
        "campaigns", view, params, answer(shares, rows, unallocated, lost),
        headline=figures(rows, unallocated, lost),
        tables={
            **_borne_tables(sharing, cells, sums, rows, unallocated),
            "behind": table(behind(sharing.lines, cells, attempts.rows), BEHIND, BEHIND_NUMBERS),
            "amounts": table(amounts(shares, spend), AMOUNTS, NUMBERS),
            "lost": _lost_table(lost),
            "lost_bridge": table(lost_bridge(_outside(sharing.lines, kept), lost, kept), BRIDGE, ["usd"]),
            "lost_by": table(_in_cents(by_dimension(found), ("usd", "usd_low")), BY, BY_NUMBERS),
            "top": _lost_table([row for row in lost if row["usd"] > 0][:TOP]),
        },
        assumptions=shares.assumptions, notices=[*told, *notices(shares, rows, _synthetic(view, used))],
        prices=pd.DataFrame({"price_id": list(shares.price_ids)}, dtype=object),
    )  # fmt: skip


def _borne_tables(
    sharing: Sharing, cells: Cells, sums: Sums, rows: Sequence[Row], unallocated: Sequence[Row]
) -> dict[str, pd.DataFrame]:
    """Who bears what: by campaign, week, team and line, and what no campaign bears."""
    return {
        "campaigns": table(rows, CAMPAIGNS, CAMPAIGN_NUMBERS),
        "weeks": table(_weeks(cells), WEEKS, ["usd"]),
        "teams": table(_teams(sums), TEAMS, ["usd", "share_frac"]),
        "lines": table(_lines(sharing, sums), LEDGER_LINES, LEDGER_LINES[2:]),
        "unallocated": table(unallocated, UNALLOCATED, UNALLOCATED[3:]),
        "sharing": table(moved_rows(sharing), MOVED, ["usd", "share_frac"]),
    }


def _with_resumption(rows: Sequence[Row], rest: Collection[tuple[str, int]]) -> list[Row]:
    """Say of each lost row whether it rests on an assumed point of resumption."""
    return [row | {"resumption": ASSUMED if (row["run"], row["attempt"]) in rest else ""} for row in rows]


def _synthetic(view: View, used: Collection[str]) -> list[str]:
    return [row["run"] for row in records(queries.runs(view)) if row["synthetic"] and row["run"] in used]


def _end(shares: Shares) -> date:
    return shares.end.date() if shares.end > shares.start else shares.start.date()


def cells_of(lines: Sequence[Line]) -> Cells:
    """Cents by bearer (campaign, team), line and ISO week; all cells add up to the rounded total.

    Rounded from the top down, total > bearer > line > week, so that no bearer and no line of one is off by a
    cent or more: a line that the bill has in whole cents is those cents.
    """
    exact: dict[Bearer, dict[str, dict[str, list[Decimal]]]] = {}
    for line in lines:
        weeks = exact.setdefault((line.campaign, line.team), {}).setdefault(line.line, {})
        weeks.setdefault(week_of(line.share.day), []).append(line.usd)
    sums = {
        bearer: {kind: {week: total(v) for week, v in sorted(weeks.items())} for kind, weeks in mine.items()}
        for bearer, mine in sorted(exact.items())
    }
    kinds = {
        bearer: {kind: total(list(mine[kind].values())) for kind in sorted(mine)}
        for bearer, mine in sums.items()
    }
    bearers = {bearer: total(list(mine.values())) for bearer, mine in kinds.items()}
    out: Cells = {}
    for bearer, amount in _cents_of(bearers, cents(total(list(bearers.values())))).items():
        for kind, usd in _cents_of(kinds[bearer], amount).items():
            out |= {(bearer, kind, week): part for week, part in _cents_of(sums[bearer][kind], usd).items()}
    return out


def _cents_of(amounts: Mapping[K, Decimal], whole: Decimal) -> dict[K, Decimal]:
    """The amounts in cents that add up to `whole`."""
    return dict(zip(amounts, to_cents(list(amounts.values()), whole), strict=True))


def _sums(cells: Cells) -> Sums:
    """Cents by bearer and line."""
    parts: dict[Bearer, dict[str, list[Decimal]]] = {}
    for (bearer, kind, _), usd in cells.items():
        parts.setdefault(bearer, {}).setdefault(kind, []).append(usd)
    return {who: {kind: total(usd) for kind, usd in mine.items()} for who, mine in parts.items()}


def _sum(sums: Sums, bearer: Bearer | None = None, line: str = "") -> Decimal:
    found = sums.values() if bearer is None else [sums.get(bearer, {})]
    return total([usd for mine in found for kind, usd in mine.items() if line in ("", kind)])


def _frac(part: Decimal, whole: Decimal) -> float:
    return float(part / whole) if whole else NAN


def _campaigns(
    kept: "Kept",
    sharing: Sharing,
    sums: Sums,
    attempts: Attempts,
    lost: Sequence[Row],
    about: dict[str, Row],
) -> list[Row]:
    """Rows CAMPAIGNS, the dearest first; '' is what no campaign bears."""
    whole = _sum(sums) - _sum(sums, line=CREDITS)
    groups: dict[Bearer, list[Line]] = {}
    for line in sharing.lines:
        groups.setdefault((line.campaign, line.team), []).append(line)
    out = []
    for bearer, lines in groups.items():
        net = _sum(sums, bearer)
        usd = net - _sum(sums, bearer, CREDITS)
        row: Row = {"campaign": bearer[0], "team": bearer[1], "usd_net": net, "usd_full": usd}
        row["share_frac"] = _frac(usd, whole)
        row["shipped_checkpoint"] = text(about.get(bearer[0], {}).get("shipped_checkpoint"))
        row |= {f"usd_{name}": _sum(sums, bearer, name) for name in LINES}
        row["usd_campaign"] = total([row[f"usd_{name}"] for name in POOLS])
        low, high = _compute(lines, kept)
        row |= {"usd_compute": low, "usd_compute_low": low, "usd_compute_high": high}
        row["usd_shared_in"] = cents(total([line.usd for line in lines if line.rule]))
        row["runs"] = len({line.share.run for line in lines if line.share.run and not line.rule})
        row |= _states(lines, attempts)
        mine = [r["usd"] for r in lost if (r["campaign"], r["team"]) == bearer]
        row["usd_lost"] = cents(total(mine))
        row["gpu_h"] = math.fsum(
            line.share.gpu_s or 0.0 for line in lines if line.share.kind == "gpu" and not line.rule
        ) / 3600  # fmt: skip
        out.append(row)
    return sorted(
        out, key=lambda row: (row["campaign"] == "", -row["usd_full"], row["campaign"], row["team"])
    )


Kept = dict[tuple[str, int | None, bool], float]


def _kept(spend: Spend) -> Kept:
    """Surviving share of each attempt (NaN: not known), as the ledger has it; True: of its tokens."""
    kept: Kept = {(r["run"], r["attempt"], False): number(r["kept_frac"]) for r in records(spend.attempts)}
    for bill in spend.bills:
        kept[bill["run"], bill["attempt"], True] = ratio(number(bill["usd_kept"]), number(bill["usd"]))
    return kept


def _compute(lines: Sequence[Line], kept: Kept) -> tuple[float, float]:
    """Least and most dollars of pools on the surviving lineage. They differ where a share names no attempt of
    a run that lost one: all of it or nothing of it may have survived.
    """
    sure, loose = [], []
    of_run: dict[str, set[float]] = {}
    for (run, _, of_tokens), frac in kept.items():
        if not of_tokens:
            of_run.setdefault(run, set()).add(frac)
    for line in lines:
        share = line.share
        if line.line not in POOLS or share.run is None:
            continue
        if share.attempt is None and of_run.get(share.run) != {1.0}:
            loose.append(float(line.usd))
            continue
        frac = kept.get((share.run, share.attempt, line.line == "tokens"), NAN)
        frac = 1.0 if share.attempt is None else frac if known(frac) else 0.0
        sure.append(float(line.usd) * frac)
    return tuple(round(math.fsum([*sure, *(usd for usd in loose if usd * side > 0)]), 2) for side in (-1, 1))  # type: ignore[return-value]


def _outside(lines: Sequence[Line], kept: Kept) -> Decimal:
    """Dollars of pools of runs that are known to lie outside the surviving lineage, in cents."""
    mine = [line for line in lines if line.line in POOLS and line.share.run is not None]
    return cents(total([line.usd for line in mine])) - cents(exact(_compute(mine, kept)[1]))


def _states(lines: Sequence[Line], attempts: Attempts) -> Row:
    """Dollars of attempts that failed, were cancelled, or ended otherwise and were followed by another."""
    sums: dict[str, list[Decimal]] = {state: [] for state in STATES}
    for line in lines:
        if line.share.run is None or line.share.attempt is None:
            continue
        row = attempts.rows.get((line.share.run, line.share.attempt))
        if row is None:
            continue
        state = row["status"] if row["status"] in STATES else "restarted" if row["followed"] else ""
        if state in sums and row["status"] != "completed":
            sums[state].append(line.usd)
    return {f"usd_{state}": cents(total(parts)) for state, parts in sums.items()}


def _weeks(cells: Cells) -> list[Row]:
    sums: dict[tuple[Bearer, str], list[Decimal]] = {}
    for (bearer, _, week), usd in cells.items():
        sums.setdefault((bearer, week), []).append(usd)
    rows = [
        {"campaign": campaign, "team": team, "week": week, "usd": total(parts)}
        for ((campaign, team), week), parts in sums.items()
    ]
    return sorted(rows, key=lambda row: (row["week"], row["campaign"], row["team"]))


def _teams(sums: Sums) -> list[Row]:
    whole = _sum(sums)
    out = []
    for team in sorted({bearer[1] for bearer in sums}):
        mine = {bearer for bearer in sums if bearer[1] == team}
        usd = total([_sum(sums, bearer) for bearer in sorted(mine)])
        count = sum(1 for campaign, _ in mine if campaign)
        out.append({"team": team, "campaigns": count, "usd": usd, "share_frac": _frac(usd, whole)})
    return sorted(out, key=lambda row: (row["team"] == "", -row["usd"]))


def _lines(sharing: Sharing, sums: Sums) -> list[Row]:
    whole = _sum(sums)
    out = []
    for name in LINES:
        if any(name in mine for mine in sums.values()):
            usd = _sum(sums, line=name)
            held = {id(line.share): line.share.gpu_s for line in sharing.lines if line.line == name}
            gpu = [seconds for seconds in held.values() if seconds is not None]
            hours = math.fsum(gpu) / 3600 if gpu else NAN
            row = {"line": name, "label": LINE_WORDS[name], "usd": usd, "gpu_h": hours}
            out.append({**row, "share_frac": _frac(usd, whole)})
    return out


def _unallocated(sharing: Sharing, sums: Sums) -> list[Row]:
    """What no campaign bears, by line, how it was matched, and who is known; adds up to the '' campaigns in
    each line.
    """
    whole = _sum(sums)
    out = []
    for bearer in sorted(who for who in sums if who[0] == ""):
        parts: dict[str, dict[tuple[str, str], list[Decimal]]] = {}
        for line in sharing.lines:
            if (line.campaign, line.team) == bearer:
                share = line.share
                owner = f"run {share.run}" if share.run else f"job {share.job}" if share.job else bearer[1]
                parts.setdefault(line.line, {}).setdefault((share.how, owner), []).append(line.usd)
        for kind, mine in sorted(parts.items()):
            keys = sorted(mine)
            amounts = near_cents([total(mine[key]) for key in keys], _sum(sums, bearer, kind))
            for (how, owner), usd in zip(keys, amounts, strict=True):
                row = {"what": LINE_WORDS[kind], "how": how, "owner": owner, "usd": usd}
                out.append({**row, "share_frac": _frac(usd, whole)})
    return sorted(out, key=lambda row: (-row["usd"], row["what"], row["owner"]))


def moved_rows(sharing: Sharing) -> list[Row]:
    """Rows MOVED in cents: the rows of a rule add up to what it picked."""
    groups: dict[str, list[Row]] = {}
    for row in sharing.moved:
        groups.setdefault(row["rule"], []).append(row)
    out: list[Row] = []
    for mine in groups.values():
        parts = [row["usd"] for row in mine]
        whole = to_cents(parts, cents(total(parts)))
        out += [{**row, "usd": usd} for row, usd in zip(mine, whole, strict=True)]
    return out


def _in_cents(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [{**row, **{name: cents(row[name]) for name in names}} for row in rows]


def _lost_table(rows: Sequence[Row]) -> pd.DataFrame:
    return table(_in_cents(rows, ("usd", "usd_low")), LOST, LOST_NUMBERS)
