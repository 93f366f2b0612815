"""`cli.py rules`: declared rules about shared costs: list them, declare one, take one back."""

import argparse
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from reports.price_commands import day_of

if TYPE_CHECKING:
    from data.money.rules import SharingRule
    from data.readers.base import Progress
    from data.store import Store

RULES = "rules"
_ASKED = ("name", "method", "to", "start", "end", "note", "undo")


def pair_of(text: str) -> tuple[str, str]:
    """FIELD=VALUE; ArgumentTypeError for anything else."""
    field, sign, value = text.partition("=")
    if not (field and sign and value):
        raise argparse.ArgumentTypeError("write FIELD=VALUE")
    return field, value


def add_parsers(commands: Any) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the command, by its name."""
    told: argparse.ArgumentParser = commands.add_parser(RULES, help="rules about shared costs")
    told.add_argument("name", metavar="NAME", nargs="?", default="", help="rule to declare or undo")
    told.add_argument(
        "--pick", action="append", default=[], type=pair_of, metavar="FIELD=VALUE", help="charges it is about"
    )
    told.add_argument(
        "--to", action="append", default=[], metavar="CAMPAIGN[=SHARE]", help="campaign that bears a part"
    )
    told.add_argument("--method", default="equal", help="equal, gpu_hours or fixed (default: equal)")
    told.add_argument("--from", dest="start", type=day_of, help="first UTC day it holds: YYYY-MM-DD")
    told.add_argument("--until", dest="end", type=day_of, help="first UTC day it does not hold any more")
    told.add_argument("--note", default="", help="why")
    told.add_argument("--undo", action="store_true", help="take the rule back; its versions stay")
    return {RULES: told}


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    told = {name: getattr(options, name) for name in _ASKED}
    found = perform(options, RULES, {**told, "pick": dict(options.pick)})
    if show is not None:
        show(found)
    else:
        print("\n".join(_lines(found["rules"]) or ["No rule is declared: nothing is shared."]))
    return 0


def _lines(rules: list[dict[str, Any]]) -> list[str]:
    out = []
    for rule in rules:
        picks = ", ".join(f"{field} {value}" for field, value in rule["pick"].items())
        targets = ", ".join(f"{name} {rule['fixed'].get(name, '')}".strip() for name in rule["to"])
        span = f"{rule['start'] or 'any day'} to {rule['end'] or 'any day'}"
        state = "taken back" if rule["retired"] else "holds" if rule["holds"] else "replaced"
        head = f"{rule['name']} v{rule['version']}"
        out.append(f"  {head}  {picks}  {rule['method']}: {targets}  {span}  {state}")
    return out


def command(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Declare or undo the named rule, none without a name; the answer lists every version of every rule."""
    from data.money.rules import live_rules, retire_rule, rule_versions

    name = arguments["name"]
    if arguments["undo"]:
        retire_rule(store, name)
    elif name:
        _declare(store, arguments)
    elif arguments["pick"] or arguments["to"]:
        raise UserError("The rule has no name", "NAME", "Name it first: cli.py rules NAME --pick … --to ….")
    versions = rule_versions(store.workspace.decisions(live_only=True, kinds=("sharing_rule",)))
    holding = {rule.decision for rule in live_rules(versions)}
    return {"rules": [_told(rule, rule.decision in holding) for rule in versions]}


def _declare(store: "Store", arguments: Mapping[str, Any]) -> None:
    from data.money.rules import declare_rule

    pairs = [target.partition("=") for target in arguments["to"]]
    targets: Any = [name for name, _, _ in pairs]
    if arguments["method"] == "fixed" and len(set(targets)) == len(targets):
        targets = {name: share for name, _, share in pairs}
    start, end = (date.fromisoformat(d) if d else None for d in (arguments["start"], arguments["end"]))
    declare_rule(
        store, arguments["name"], arguments["pick"], arguments["method"], targets,
        start=start, end=end, note=arguments["note"],
    )  # fmt: skip


def _told(rule: "SharingRule", holds: bool) -> dict[str, Any]:
    return {
        "name": rule.name, "version": rule.version, "decision": rule.decision, "pick": dict(rule.subject),
        "method": rule.method, "to": list(rule.targets),
        "fixed": {name: str(share) for name, share in rule.fixed.items()},
        "start": rule.start and rule.start.isoformat(), "end": rule.end and rule.end.isoformat(),
        "note": rule.note, "retired": rule.retired, "holds": holds,
    }  # fmt: skip
