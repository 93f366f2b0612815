"""Rules that people declared about shared costs: dated, versioned, taken back but never deleted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, get_args

from data.errors import UserError
from models.sharing import Method, fixed_shares

if TYPE_CHECKING:
    from data.store import Store
    from data.view import View
    from data.workspace import Decision

SUBJECTS = ("run", "campaign", "kind", "role", "pool")
"""What picks the charges of a rule; all that are given must match."""


@dataclass(frozen=True)
class SharingRule:
    """Charges that match `subject` (field -> value) from `start` to before `end` (UTC days, None: open) are
    borne by the campaigns `targets`.

    `fixed`: shares by target for the method fixed. `version` counts the entries under the name, `decision` is
    the id of this one; the rule that was declared first comes first in every list.
    """

    name: str
    subject: Mapping[str, str]
    method: Method
    targets: tuple[str, ...]
    fixed: Mapping[str, Decimal]
    start: date | None = None
    end: date | None = None
    note: str = ""
    who: str = ""
    version: int = 1
    decision: int = 0
    at: datetime | None = None
    retired: bool = False

    def counts_on(self, day: date | None) -> bool:
        """Whether the rule holds on a UTC day; a charge without a day only meets rules without dates."""
        if day is None:
            return self.start is None and self.end is None
        return (self.start is None or self.start <= day) and (self.end is None or day < self.end)


def rule_versions(decisions: Iterable["Decision"]) -> list[SharingRule]:
    """Every version of every rule, oldest entry first."""
    out: list[SharingRule] = []
    count: dict[str, int] = {}
    for one in decisions:
        if one.kind == "sharing_rule":
            name = str(one.payload["name"])
            count[name] = count.get(name, 0) + 1
            out.append(_rule(one, count[name]))
    return out


def live_rules(versions: Iterable[SharingRule]) -> list[SharingRule]:
    """The newest version of each rule in the order of their names' first entry, without those taken back."""
    newest: dict[str, SharingRule] = {}
    for rule in versions:
        newest[rule.name] = rule
    return [rule for rule in newest.values() if not rule.retired]


def sharing_rules(view: "View") -> list[SharingRule]:
    """The rules that hold in a view."""
    return live_rules(rule_versions(view.money))


def _rule(one: "Decision", version: int) -> SharingRule:
    told: dict[str, Any] = one.payload
    return SharingRule(
        name=told["name"],
        subject=dict(told["subject"]),
        method=told["method"],
        targets=tuple(told["targets"]),
        fixed={name: Decimal(share) for name, share in told["fixed"].items()},
        start=date.fromisoformat(told["start"]) if told["start"] else None,
        end=date.fromisoformat(told["end"]) if told["end"] else None,
        note=told["note"],
        who=told["who"],
        version=version,
        decision=one.id,
        at=one.at,
        retired=told["action"] == "retire",
    )


def declare_rule(
    store: "Store",
    name: str,
    subject: Mapping[str, str],
    method: str,
    targets: Sequence[str] | Mapping[str, str],
    *,
    start: date | None = None,
    end: date | None = None,
    note: str = "",
    who: str = "",
) -> "Decision":
    """Declare a rule, or a new version of the one of that name; `end` is the first day it does not hold.

    `targets`: campaigns, with their share for the method fixed. UserError names what cannot be used.
    """
    payload = checked_rule(name, subject, method, targets, start, end)
    return store.workspace.decide("sharing_rule", {**payload, "note": note.strip(), "who": who.strip()})


def checked_rule(
    name: str,
    subject: Mapping[str, str],
    method: str,
    targets: Sequence[str] | Mapping[str, str],
    start: date | None = None,
    end: date | None = None,
) -> dict[str, Any]:
    """The payload of a rule; UserError names the field that cannot be used and the remedy."""
    if not name.strip():
        raise UserError("The rule has no name", "name", "Name it, such as 'teacher of the spring models'.")
    picked = {key: str(value).strip() for key, value in subject.items() if str(value).strip()}
    unknown = sorted(set(picked) - set(SUBJECTS))
    if unknown or not picked:
        said = f"'{unknown[0]}' picks no charges" if unknown else "The rule picks no charges"
        raise UserError(said, "subject", f"Give at least one of {', '.join(SUBJECTS)}.")
    if method not in get_args(Method):
        raise UserError(
            f"'{method}' is no way to share a cost", "method", f"Use one of {', '.join(get_args(Method))}."
        )
    names = [str(target).strip() for target in targets]
    if not names or "" in names or len(set(names)) != len(names):
        raise UserError(
            "Targets must be campaigns, each named once", "targets", "Name at least one campaign."
        )
    if picked.get("campaign") in names:
        raise UserError(
            f"{picked['campaign']} would bear its own cost", "targets", "Leave it out: the rest stays there."
        )
    if start is not None and end is not None and end <= start:
        raise UserError("The rule ends before it starts", "end", "The end is the first day it does not hold.")
    told = {"action": "set", "name": name.strip(), "subject": picked, "method": method, "targets": names}
    told["fixed"] = _fixed(targets, names) if method == "fixed" else {}
    return {**told, "start": start and start.isoformat(), "end": end and end.isoformat()}


def _fixed(targets: Sequence[str] | Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    if not isinstance(targets, Mapping):
        raise UserError(
            "Fixed shares are missing", "targets", "Give each campaign its share, such as 0.6 and 0.4."
        )
    try:
        shares = [Decimal(str(share).strip()) for share in targets.values()]
        fixed_shares(shares)
    except InvalidOperation:
        raise UserError(
            "A share is not a number", "targets", "Write it as a fraction, such as 0.4."
        ) from None
    except ValueError as error:
        raise UserError(
            str(error).capitalize(), "targets", "Shares are above 0 and at most 1 together; the rest stays."
        ) from error
    return {name: str(share) for name, share in zip(names, shares, strict=True)}


def retire_rule(store: "Store", name: str, *, note: str = "", who: str = "") -> "Decision":
    """Take a rule back: it moves nothing any more and stays visible. UserError when there is none."""
    held = live_rules(rule_versions(store.workspace.decisions(live_only=True, kinds=("sharing_rule",))))
    found = [rule for rule in held if rule.name == name.strip()]
    if not found:
        raise UserError(f"There is no rule '{name}'", "name", "Choose one from the table.")
    rule = found[0]
    told: dict[str, Any] = {"action": "retire", "name": rule.name, "subject": dict(rule.subject)}
    told |= {"method": rule.method, "targets": list(rule.targets)}
    told["fixed"] = {key: str(share) for key, share in rule.fixed.items()}
    told |= {"start": rule.start and rule.start.isoformat(), "end": rule.end and rule.end.isoformat()}
    return store.workspace.decide("sharing_rule", {**told, "note": note.strip(), "who": who.strip()})
