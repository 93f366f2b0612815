"""`cli.py forecast`: keep a forecast, list those that were kept, score them against what happened."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from reports.arguments import json_object

if TYPE_CHECKING:
    from data.forecasts import KeptForecast
    from data.readers.base import Progress
    from data.store import Store

FORECAST = "forecast"
ACTIONS = ("keep", "list", "score")


def add_parsers(commands: Any) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the command, by its name."""
    told: argparse.ArgumentParser = commands.add_parser(FORECAST, help="keep forecasts and score them")
    told.add_argument("action", choices=ACTIONS, help="keep one now, list all, or score all")
    told.add_argument("--params", type=json_object, default={}, metavar="JSON", help="inputs of the forecast")
    told.add_argument("--note", default="", help="why it was made")
    return {FORECAST: told}


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    from reports.terminal import print_answer

    asked = {name: getattr(options, name) for name in ("action", "params", "note")}
    found = perform(options, FORECAST, asked)
    if show is not None:
        show(found)
    elif options.action == "score":
        print_answer(found["answer"])
        for line in _scored(found["answer"]["tables"]["scores"]):
            print(line)
    else:
        print("\n".join(_lines(found["forecasts"]) or ["No forecast is kept: cli.py forecast keep."]))
    return 0


def _lines(forecasts: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['id']:>4}  {one['made_at']}  data to {one['data_end']}  {one['months'][0]} to "
        f"{one['months'][-1]}  ${one['usd_p50']:,.0f} (sum of medians)  {one['note']}".rstrip()
        for one in forecasts
    ]


def _scored(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"  forecast {r['forecast']}, {r['month']}: ${r['p50']:,.0f} (${r['p10']:,.0f} to ${r['p90']:,.0f}), "
        f"spent ${r['actual']:,.0f}: {'inside' if r['inside'] else 'outside'}"
        for r in rows
        if r["kind"] == "total" and r["measure"] == "usd"
    ]


def command(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Keep, list or score; UserError when nothing can be forecast."""
    from analysis import run
    from data.forecasts import kept

    action = arguments["action"]
    if action != "keep" and (arguments["params"] or arguments["note"]):
        words = f"'{action}' takes no inputs: a kept forecast has its own"
        raise UserError(words, "--params, --note", "Leave them out, or use keep.")
    if action == "score":
        with store.view() as view:
            return {"answer": run("forecast_score", view, {}).to_dict()}
    found = (keep_forecast(store, arguments["params"], arguments["note"]),) if action == "keep" else None
    return {"forecasts": [_told(one) for one in found or kept(store.workspace)]}


def _told(one: "KeptForecast") -> dict[str, Any]:
    rows = [row for row in one.document["rows"] if row["kind"] == "total"]
    return {
        "id": one.id,
        "made_at": one.made_at.isoformat(timespec="seconds"),
        "note": one.note,
        "data_end": one.document["data_end"],
        "months": one.document["months"],
        "usd_p50": sum(row["usd_p50"] for row in rows),
        "params": dict(one.params),
    }


def keep_forecast(store: "Store", params: Mapping[str, Any], note: str = "") -> "KeptForecast":
    """Make the forecast of these inputs and append it.

    UserError when nothing can be forecast, or when the newest that was kept is the same: a second could not
    be deleted, and would count twice in the score.
    """
    from analysis.forecast import ForecastParams, keepable
    from analysis.registry import check_against, parse
    from data.forecasts import keep, kept

    asked = parse("forecast", params)
    if not isinstance(asked, ForecastParams):
        raise TypeError("the question forecast has other parameters")
    with store.view() as view:
        check_against(view, asked)
        try:
            document = keepable(view, asked)
        except ValueError as error:
            raise UserError("There is nothing to keep", "forecast", str(error)) from error
    told = asked.model_dump(mode="json")
    for last in kept(store.workspace)[-1:]:
        if (dict(last.params), dict(last.document)) == (told, json.loads(json.dumps(document))):
            words = f"It is kept already, as forecast {last.id}: the same inputs, data and numbers"
            raise UserError(
                words, "forecast", "Change an input or load newer data; a kept one never changes."
            )
    return keep(store.workspace, told, document, note)
