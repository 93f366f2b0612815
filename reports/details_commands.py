"""`cli.py details RUN`: what a person says about a run beside its files, shown or changed by a decision."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from reports.arguments import json_object

if TYPE_CHECKING:
    from data.readers.base import Progress
    from data.store import Store

DETAILS = "details"


def add_parsers(commands: Any) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the command, by its name."""
    told: argparse.ArgumentParser = commands.add_parser(DETAILS, help="run details: show or set them")
    told.add_argument("run", metavar="RUN")
    told.add_argument(
        "--set", type=json_object, default={}, metavar="JSON", help="fields to change; null: as the files say"
    )
    return {DETAILS: told}


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    found = perform(options, DETAILS, {"run": options.run, "set": options.set})
    if show is not None:
        show(found)
        return 0
    for name, value in found["details"].items():
        if name != "run" and value not in (None, [], {}):
            print(f"  {name} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    print(
        "\n".join(f"  ! {text}" for text in found["missing"]) or "  Nothing is missing for a dollar figure."
    )
    return 0


def command(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Details in force and what a dollar figure lacks, after the fields of `set` were decided as on the page.

    UserError for an unknown run, field or value; nothing is changed then.
    """
    from pydantic import ValidationError

    from data.queries.known import known_runs
    from data.run_details import RunDetails, current_details, missing_for_cost, save_details

    run, fields = str(arguments["run"]), dict(arguments.get("set") or {})
    with store.view() as view:
        known = known_runs(view)
    if run not in known:
        shown = ", ".join(sorted(known)[:20]) or "none is loaded"
        raise UserError(f"There is no run {run}", "RUN", f"Choose one of: {shown}.")
    if fields:
        blank = RunDetails(run=run).model_dump()
        now = current_details(store, run).model_dump()
        changed = {name: blank.get(name) if value is None else value for name, value in fields.items()}
        try:
            new = RunDetails.model_validate({**now, **changed, "run": run})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "pools"
            names = ", ".join(sorted(set(RunDetails.model_fields) - {"run"}))
            words = first["msg"].removeprefix("Value error, ")
            raise UserError(words, place, f"Fields of run details are {names}.") from error
        save_details(store, new)
    return {
        "details": current_details(store, run).model_dump(mode="json"),
        "missing": [item.text for item in missing_for_cost(store, run)],
    }
