"""`cli.py link`: make links, list them, and close, pause, rotate or change them."""

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from data.readers.base import Progress
    from data.store import Store
    from reports.freeze import FrozenReport
    from reports.links import Link, NewLink
    from reports.redact import Redaction
    from reports.sharing import Terms

CREATE, LIST, CHANGE, ROTATE = "link create", "link list", "link change", "link rotate"
ONE = {"link revoke": "revoked", "link pause": "paused", "link resume": "open"}
"""Commands that take a link and nothing else, and the state in which they leave it."""
NAMES = (CREATE, LIST, CHANGE, ROTATE, *ONE)
_NOT_SENT = {"work", "home", "json", "command"}
Freeze = Callable[["Store", Mapping[str, Any]], tuple["FrozenReport", "Path"]]
Ask = Callable[["Store", Mapping[str, Any]], tuple[str, dict[str, Any], "Redaction"]]


def add_parsers(
    commands: Any, freeze_options: Callable[[argparse.ArgumentParser], None]
) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the commands, by name; `freeze_options` adds what a report takes."""
    link = commands.add_parser("link", help="make, list, pause, rotate and revoke links to reports")
    actions = link.add_subparsers(required=True, metavar="ACTION")
    create: argparse.ArgumentParser = actions.add_parser(
        "create", help="freeze an answer, print its link once"
    )
    create.add_argument("--expires", default="7d", help="1h to 90d, or none (default: 7d)")
    create.add_argument("--label", default="", help="your own name for it; readers do not see it")
    create.add_argument("--live", action="store_true", help="compute when opened instead of freezing now")
    create.add_argument(
        "--passphrase", action="store_true", help="ask for a passphrase that readers must give"
    )
    _access(create)
    freeze_options(create)
    change: argparse.ArgumentParser = actions.add_parser("change", help="change what is given, keep the rest")
    change.add_argument("link", help="its number, path or address")
    change.add_argument("--expires", help="1h to 90d from now, or none")
    change.add_argument("--label", help="your own name for it")
    phrase = change.add_mutually_exclusive_group()
    phrase.add_argument("--passphrase", action="store_true", help="ask for a new passphrase")
    phrase.add_argument("--no-passphrase", action="store_true", help="let it open without one")
    _access(change)
    found = {CREATE: create, CHANGE: change, LIST: actions.add_parser("list", help="list all links")}
    words = {
        "revoke": "close a link for good",
        "pause": "let a link open nothing until it is resumed",
        "resume": "let a paused link open again",
        "rotate": "print a new address once; the old one is dead at once",
    }
    for name, told in words.items():
        one = found[f"link {name}"] = actions.add_parser(name, help=told)
        one.add_argument("link", help="its number, path or address")
    return found


def _access(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--export", action=argparse.BooleanOptionalAction, help="let readers download the tables"
    )
    command.add_argument(
        "--embed", action="append", metavar="ORIGIN", help="site that may frame it: https://wiki.example.org"
    )


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    asked = {name: value for name, value in vars(options).items() if name not in _NOT_SENT}
    if asked.get("passphrase"):
        asked["passphrase"] = _phrase()
    found = perform(options, options.command, asked)
    if show is not None:
        show(found)
    elif options.command in {CREATE, ROTATE}:
        _print_new(found)
    elif options.command == LIST:
        print("\n".join(map(_line, found["links"])) or "No links yet. Make one with `cli.py link create`.")
    else:
        print(f"Link {found['id']} ({found['label']}) is {found['state']}.")
    return 0


def _phrase() -> str:
    """From the terminal without showing it, else the first line of what is piped in: never an argument."""
    if sys.stdin.isatty():
        return getpass.getpass("Passphrase for readers: ")
    return sys.stdin.readline().rstrip("\n")


def _print_new(found: Mapping[str, Any]) -> None:
    print(found["url"] or found["path"])
    until = f"opens until {found['expires_at']}" if found["expires_at"] else "has no expiry date"
    print(f"Link {found['id']} {until}. It is shown this once.", file=sys.stderr)
    if found["url"] is None:
        print(
            "It reaches nobody else until IPD_BASE_URL is set; see `cli.py serve --links-only`.",
            file=sys.stderr,
        )


def _line(link: Mapping[str, Any]) -> str:
    until = link["expires_at"] or "no expiry"
    opened = f"{link['opens']} opens, last {link['last_opened_at']}" if link["opens"] else "never opened"
    marks = [
        *(["live"] if link["kind"] == "live" else []),
        *(["passphrase"] if link["passphrase"] else []),
        *(["export"] if link["exportable"] else []),
        *([f"framed by {' '.join(link['embed_origins'])}"] if link["embed_origins"] else []),
        *([f"hidden: {link['hidden']}"] if link["hidden"] else []),
    ]
    told = f"  [{'; '.join(marks)}]" if marks else ""
    return f"{link['id']:>4}  {link['state']:<8}  until {until:<25}  {opened}  {link['label']}{told}"


def commands(
    freeze: Freeze, ask: Ask
) -> dict[str, Callable[["Store", Mapping[str, Any], "Progress"], dict[str, Any]]]:
    """What the commands do; `freeze` makes and keeps a report, `ask` tells what a live link asks."""

    def create(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
        return _create(store, arguments, freeze, ask)

    return {
        CREATE: create,
        LIST: _list,
        CHANGE: _change,
        ROTATE: _rotate,
        **{name: _one(name.split()[1]) for name in ONE},
    }


def _create(store: "Store", arguments: Mapping[str, Any], freeze: Freeze, ask: Ask) -> dict[str, Any]:
    from reports.sharing import frozen_link, live_link

    terms = _terms(arguments)
    if arguments.get("live"):
        title, asked, redaction = ask(store, arguments)
        return _new(live_link(store, title, asked, redaction, terms))
    report, _path = freeze(store, arguments)
    first = report.sections[0]
    new = frozen_link(store.home, report, terms, question=first["analysis"], params=first["params"])
    return _new(new)


def _terms(arguments: Mapping[str, Any]) -> "Terms":
    from reports.link_terms import expiry
    from reports.sharing import Terms

    return Terms(
        expires_in=expiry(str(arguments.get("expires") or "7d")),
        label=str(arguments.get("label") or ""),
        passphrase=arguments.get("passphrase") or None,
        embed_origins=tuple(arguments.get("embed") or ()),
        exportable=bool(arguments.get("export")),
    )


def _new(new: "NewLink") -> dict[str, Any]:
    from reports.addresses import absolute, base_url

    told = new.link.to_dict()
    return {**told, "path": new.path, "url": absolute(new.path) if base_url() else None}


def _list(store: "Store", _arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    from reports.links import LinkBook

    return {"links": [link.to_dict() for link in LinkBook(store.home).all()]}


def _rotate(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    from reports.links import LinkBook

    return _new(LinkBook(store.home).rotate(str(arguments["link"])))


def _one(action: str) -> Callable[["Store", Mapping[str, Any], "Progress"], dict[str, Any]]:
    def work_on(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
        from reports.links import LinkBook

        changed: Link = getattr(LinkBook(store.home), action)(str(arguments["link"]))
        return changed.to_dict()

    return work_on


def _change(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Check everything before the first change, so that a refusal changes nothing."""
    from reports.links import LinkBook

    book, given = LinkBook(store.home), dict(arguments)
    link = book.get(str(given["link"]))
    terms = _terms(given)
    ref = str(link.id)
    if given.get("label") is not None:
        book.set_label(ref, terms.label)
    if given.get("expires") is not None:
        book.set_expiry(ref, terms.expires_in)
    if given.get("passphrase") or given.get("no_passphrase"):
        book.set_passphrase(ref, terms.passphrase)
    if given.get("embed") is not None or given.get("export") is not None:
        framed = link.embed_origins if given.get("embed") is None else terms.embed_origins
        exportable = link.exportable if given.get("export") is None else terms.exportable
        book.set_access(ref, embed_origins=framed, exportable=exportable)
    return book.get(ref).to_dict()
