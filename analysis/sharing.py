"""Who bears each share: its own campaign, or the targets of a declared rule. Moving changes no total."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from analysis.frames import Row
from analysis.result import Notice
from analysis.shares import Share
from analysis.words import listing, money
from data.money.rules import SharingRule
from models.cents import total
from models.sharing import share_out

LINES = (
    "gpus",
    "judge",
    "sandbox",
    "tokens",
    "evals",
    "storage",
    "data",
    "staff",
    "unused",
    "credits",
    "other",
)
LINE_WORDS = {
    "gpus": "GPUs of training and rollout",
    "judge": "Judge and reward-model GPUs",
    "sandbox": "Sandbox and other CPU cores",
    "tokens": "Hosted services, paid by the token",
    "evals": "Evaluations",
    "storage": "Storage",
    "data": "Data",
    "staff": "Staff",
    "unused": "Unused commitments and reservations",
    "credits": "Credits",
    "other": "Other and tax",
}
MOVED = ["rule", "method", "subject", "charges", "target", "usd", "share_frac"]


@dataclass(frozen=True)
class Line:
    """A share, or the part of one that a campaign bears; `rule` is '' where nothing was moved."""

    share: Share
    campaign: str
    team: str
    usd: Decimal
    rule: str = ""

    @property
    def line(self) -> str:
        """The line of the ledger it belongs to, one of LINES."""
        return line_of(self.share)


@dataclass(frozen=True)
class Sharing:
    """Lines of a period after the rules, table MOVED, and what to say about rules."""

    lines: tuple[Line, ...]
    moved: tuple[Row, ...]
    notices: tuple[Notice, ...]


def line_of(share: Share) -> str:
    """Judge and sandbox by the role of the pool, everything else by the kind of the charge."""
    if share.kind == "gpu":
        return share.role if share.role in ("judge", "sandbox") else "gpus"
    if share.kind == "cpu":
        return "sandbox"
    if share.kind == "credit":
        return "credits"
    return share.kind if share.kind in LINES else "other"


def apply_rules(
    shares: Sequence[Share],
    rules: Sequence[SharingRule],
    teams: Mapping[str, str],
    period: tuple[date, date],
) -> Sharing:
    """Lines of the period. Rules look at who owned a share before any rule, so their order does not matter;
    where two match, the one entered last counts. `period`: first day, and first day after it.
    """
    live = sorted((rule for rule in rules if _touches(rule, period)), key=lambda rule: -rule.decision)
    caught: dict[str, list[Share]] = {rule.name: [] for rule in live}
    lines: list[Line] = []
    twice: dict[tuple[str, str], list[Decimal]] = {}
    for share in shares:
        found = [rule for rule in live if _matches(rule, share) and rule.counts_on(share.day)]
        if not found:
            lines.append(Line(share, share.campaign or "", share.team or "", share.usd))
            continue
        caught[found[0].name].append(share)
        for other in found[1:]:
            twice.setdefault((found[0].name, other.name), []).append(share.usd)
    moved: list[Row] = []
    notices = [_twice(pair, amounts) for pair, amounts in sorted(twice.items())]
    for rule in reversed(live):
        mine, rows, said = _applied(rule, caught[rule.name], shares, teams)
        lines, moved, notices = [*lines, *mine], [*moved, *rows], [*notices, *said]
    return Sharing(tuple(lines), tuple(moved), (*notices, *_undated(live, shares), *_unknown(live, teams)))


def _touches(rule: SharingRule, period: tuple[date, date]) -> bool:
    return (rule.start is None or rule.start < period[1]) and (rule.end is None or rule.end > period[0])


def _matches(rule: SharingRule, share: Share) -> bool:
    """Whether every given field of the subject is that of the share before any rule."""
    return all((getattr(share, name) or "") == value for name, value in rule.subject.items())


def _used(rule: SharingRule, caught: Sequence[Share], shares: Iterable[Share]) -> dict[str, float]:
    """GPU-seconds of each target's own work on the days of the rule, without what the rule itself moves."""
    mine = {id(share) for share in caught}
    used = dict.fromkeys(rule.targets, 0.0)
    for share in shares:
        if (
            share.kind == "gpu"
            and share.campaign in used
            and id(share) not in mine
            and rule.counts_on(share.day)
        ):
            used[share.campaign] += share.gpu_s or 0.0
    return {name: max(0.0, seconds) for name, seconds in used.items()}


def _applied(
    rule: SharingRule, caught: Sequence[Share], shares: Sequence[Share], teams: Mapping[str, str]
) -> tuple[list[Line], list[Row], list[Notice]]:
    subject = ", ".join(f"{name} {value}" for name, value in rule.subject.items())
    if not caught:
        words = f"Rule '{rule.name}' ({subject}) meets no charge of the period, so it moves nothing."
        return [], [], [Notice("rule_unmet", words, rule.name)]
    used = _used(rule, caught, shares) if rule.method == "gpu_hours" else {}
    lines: list[Line] = []
    sums = dict.fromkeys([*rule.targets, ""], Decimal(0))
    for share in caught:
        split = share_out(share.usd, rule.method, rule.targets, fixed=rule.fixed, used=used)
        for target, part in split.parts.items():
            sums[target] += part
            if part:
                lines.append(Line(share, target, teams.get(target, ""), part, rule.name))
        sums[""] += split.rest
        if split.rest:
            lines.append(Line(share, share.campaign or "", share.team or "", split.rest))
    whole = total([share.usd for share in caught])
    base: Row = {"rule": rule.name, "method": rule.method, "subject": subject, "charges": len(caught)}
    rows = [
        {**base, "target": name, "usd": part, "share_frac": float(part / whole) if whole else None}
        for name, part in sums.items()
        if name or part
    ]
    notices = []
    if rule.method == "gpu_hours" and not any(used.values()):
        words = (
            f"Rule '{rule.name}': {listing(list(rule.targets))} used no GPU-hours on its days, so "
            f"{money(float(whole))} stay unallocated."
        )
        notices.append(Notice("rule_without_usage", words, rule.name))
    return lines, rows, notices


def _twice(pair: tuple[str, str], amounts: Sequence[Decimal]) -> Notice:
    words = (
        f"Rules '{pair[0]}' and '{pair[1]}' both pick {money(float(total(list(amounts))))}: '{pair[0]}', "
        "which was entered last, counts."
    )
    return Notice("rules_overlap", words, pair[0])


def _undated(rules: Sequence[SharingRule], shares: Iterable[Share]) -> list[Notice]:
    """Charges without a day that a dated rule would pick: it cannot tell whether it holds."""
    out = []
    loose = [share for share in shares if share.day is None]
    for rule in rules:
        mine = [share.usd for share in loose if _matches(rule, share)]
        if mine and not rule.counts_on(None):
            words = (
                f"Rule '{rule.name}' has dates, and {money(float(total(mine)))} of its charges have no day."
            )
            out.append(Notice("rule_undated", words, rule.name))
    return out


def _unknown(rules: Sequence[SharingRule], known: Mapping[str, str]) -> list[Notice]:
    out = []
    for rule in rules:
        strange = [name for name in rule.targets if name not in known]
        if strange:
            words = f"Rule '{rule.name}' names {listing(strange)}, which no run or campaign file names."
            out.append(Notice("rule_target_unknown", words, rule.name))
    return out


def week_of(day: date | None) -> str:
    """ISO week such as 2026-W10; '' for a charge without a day."""
    if day is None:
        return ""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


def days_of(start: date, end_exclusive: date) -> tuple[date, date]:
    """The period in days, at least one."""
    return start, max(end_exclusive, start + timedelta(days=1))
