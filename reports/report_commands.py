"""`cli.py report`: freeze an answer or a notebook, compare two reports, or one with today."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    from data.readers.base import Progress
    from data.store import Store
    from reports.freeze import FrozenReport

REPORT, DIFF, NEWER = "report", "report diff", "report newer"
NAMES = (REPORT, DIFF, NEWER)
SHORTEST_HASH = 6
USAGE = 2
Freeze = Callable[["Store", Mapping[str, Any]], tuple["FrozenReport", Path]]


def add_parsers(
    commands: Any, freeze_options: Callable[[argparse.ArgumentParser], None]
) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the commands, by name; `freeze_options` adds what a report takes."""
    report: argparse.ArgumentParser = commands.add_parser(
        "report", help="freeze an answer or a notebook into one HTML file, or compare reports"
    )
    report.add_argument("--out", metavar="FILE.html", help="where the report goes; needed to freeze one")
    freeze_options(report)
    actions = report.add_subparsers(metavar="ACTION")
    two: argparse.ArgumentParser = actions.add_parser("diff", help="what differs between two reports")
    two.add_argument("a", metavar="A", help="the earlier one: its hash, or its JSON file")
    two.add_argument("b", metavar="B", help="the later one")
    today: argparse.ArgumentParser = actions.add_parser("newer", help="what a report would say today")
    today.add_argument("a", metavar="REPORT", help="its hash, or its JSON file")
    return {REPORT: report, DIFF: two, NEWER: today}


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    if options.command == REPORT:
        return _freeze(options, perform, show)
    asked = {name: _reference(getattr(options, name)) for name in ("a", "b") if hasattr(options, name)}
    found = perform(options, options.command, asked)
    if show is not None:
        show(found)
    else:
        print(found["markdown"])
    return 0


def _freeze(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    if not options.out:
        print("usage: cli.py report --out FILE.html, or cli.py report diff A B, or newer A", file=sys.stderr)
        return USAGE
    out = Path(options.out).expanduser()
    if not out.parent.is_dir():
        raise UserError("There is no such folder", str(out.parent), "Make it, or choose another --out.")
    names = ("question", "params", "notebook", "title", "hide_dollars", "hide_names", "hide_runs")
    found = perform(options, REPORT, {name: getattr(options, name) for name in names})
    out.write_text(Path(found["html"]).read_text(encoding="utf-8"), encoding="utf-8")
    if show is not None:
        show({**found, "out": str(out)})
    else:
        print(f"{out}: {found['title']} ({out.stat().st_size / 1e6:.1f} MB, content {found['hash'][:12]})")
    for problem in found["problems"]:
        print(f"{problem['state']}: {problem['name']}. {problem['text']}", file=sys.stderr)
    return 0


def commands(
    freeze: Freeze,
) -> dict[str, Callable[["Store", Mapping[str, Any], "Progress"], dict[str, Any]]]:
    """What the commands do; `freeze` makes and keeps a report."""

    def report(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
        from reports.cell_words import problem

        made, path = freeze(store, arguments)
        return {
            "hash": made.hash,
            "title": made.title,
            "answer": made.answer,
            "created_at": made.created_at.isoformat(timespec="seconds"),
            "html": str(path),
            "problems": [told for section in made.sections if (told := problem(section))],
        }

    return {REPORT: report, DIFF: _diff, NEWER: _newer}


def find(home: Path, reference: str) -> "FrozenReport":
    """Return the report of a JSON file or of a hash's first digits; UserError for none or several."""
    from reports.freeze import folder, load, read_report

    path = Path(reference)
    if path.is_absolute() and path.is_file():
        return read_report(path)
    wanted = reference.lower()
    kept = sorted(p.stem for p in folder(home).glob("*.json") if "." not in p.stem)
    found = [name for name in kept if name.startswith(wanted)] if len(wanted) >= SHORTEST_HASH else []
    if len(found) != 1:
        many = f"{len(found)} reports begin so" if found else "There is no such report in the home"
        remedy = f"Give the hash of its fine print, {SHORTEST_HASH} digits at least, or its JSON file."
        raise UserError(many, reference[:80], remedy)
    return load(home, found[0])


def _diff(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    from reports.diff import diff

    found = diff(*(find(store.home, str(arguments[name])) for name in ("a", "b")))
    return {**found.to_dict(), "markdown": found.to_markdown()}


def _newer(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    from reports.newer import compare_with_today

    found = compare_with_today(store, find(store.home, str(arguments["a"])))
    told = found.diff.to_dict() if found.diff else None
    return {"why": found.why, "refused": found.refused, "diff": told, "markdown": found.to_markdown()}


def _reference(text: str) -> str:
    """A file as the server finds it too."""
    path = Path(text).expanduser()
    return str(path.resolve()) if path.is_file() else text
