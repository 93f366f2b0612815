"""`cli.py prices`: the price book from a terminal: list it, import a price list of others."""

import argparse
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    from data.money.import_plan import ImportPlan
    from data.readers.base import Progress
    from data.store import Store

LIST, IMPORT = "prices list", "prices import"
SHOWN = 20


def day_of(text: str) -> str:
    """A day as YYYY-MM-DD; ArgumentTypeError for anything else."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no day, write YYYY-MM-DD") from error


def name_of(text: str) -> tuple[str, str]:
    """A GPU name and the platform it stands for."""
    gpu, sign, platform = text.rpartition("=")
    if not (gpu and sign and platform):
        raise argparse.ArgumentTypeError("write NAME=PLATFORM")
    return gpu, platform


def add_parsers(commands: Any) -> dict[str, argparse.ArgumentParser]:
    """The grammar of the commands, by name."""
    prices = commands.add_parser("prices", help="list the price book, import a price list")
    actions = prices.add_subparsers(required=True, metavar="ACTION")
    shown: argparse.ArgumentParser = actions.add_parser("list", help="print the prices in force")
    shown.add_argument("--platform", default="", help="platform id; then with every version")
    load: argparse.ArgumentParser = actions.add_parser("import", help="import SkyPilot or gpuhunt prices")
    load.add_argument("file", metavar="FILE", help="vms.csv, slurm/pricing.csv or a gpuhunt catalogue")
    load.add_argument("--source", required=True, help="where the file comes from")
    load.add_argument("--date", required=True, type=day_of, help="day it was taken: YYYY-MM-DD")
    load.add_argument("--provider", default="", help="who sells at these prices")
    load.add_argument("--currency", default="USD", help="currency of the file (default: USD)")
    load.add_argument("--kind", default="on_demand", help="kind of its list prices (default: on_demand)")
    load.add_argument(
        "--gpu",
        action="append",
        default=[],
        type=name_of,
        metavar="NAME=PLATFORM",
        help="what a GPU name means",
    )
    load.add_argument(
        "--dry-run", action="store_true", help="say what would become of each row, store nothing"
    )
    return {LIST: shown, IMPORT: load}


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None] | None,
) -> int:
    """Let the server or this process do it; `show` takes the whole answer, without it lines are printed."""
    if options.command == LIST:
        found = perform(options, LIST, {"platform": options.platform})
        lines = _listed(found)
    else:
        found = _perform_import(options, perform)
        lines = _imported(found)
    if show is not None:
        show(found)
    else:
        print("\n".join(lines))
    return 0


def _perform_import(options: argparse.Namespace, perform: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    path = Path(options.file).expanduser()
    if not path.is_file():
        raise UserError("There is no such file", options.file, "Check the path.")
    names = ("source", "date", "provider", "currency", "kind", "dry_run")
    told = {name: getattr(options, name) for name in names}
    return perform(options, IMPORT, {**told, "path": str(path.resolve()), "gpu": dict(options.gpu)})


def _listed(found: Mapping[str, Any]) -> list[str]:
    lines = [str(found["answer"])]
    for row in found["prices"]:
        value = "–" if row["price_value"] is None else f"{row['price_value']:g}"
        start, state = row["as_of"] or "no date", row.get("state", "")
        lines.append(
            f"  {row['price_id']}@{row['version']:g}  {value} {row['unit']}  {start}  {row['badge']}  {state}"
        )
    return [line.rstrip() for line in lines]


def _imported(found: Mapping[str, Any]) -> list[str]:
    done = "would become" if found["decision"] is None else "became"
    lines = [
        f"{found['file']}: {found['rows']} rows = {found['priced']} priced + {found['set_aside_rows']} "
        f"set aside + {found['ignored_rows']} ignored; they {done} {len(found['prices'])} prices"
    ]
    lines += [f"  ! {words}" for _, _, words in (*found["findings"], *found["dropped_spot"])]
    lines += [f"  set aside {n}: {words}" for _, n, words in found["set_aside"]]
    lines += [f"  {_nameless(found, gpu, rows)}" for gpu, rows in found["unknown"].items()]
    rows = found["prices"][:SHOWN]
    lines += [f"  {row['price_id']}  {row['value']:g} {row['unit']}  {row['region']}" for row in rows]
    left = len(found["prices"]) - len(rows)
    return [*lines, f"  and {left} more"] if left else lines


def _nameless(found: Mapping[str, Any], gpu: str, rows: int) -> str:
    """What a GPU name lacks to be a platform, and the options that say it."""
    offered = [f"--gpu {quote(f'{gpu}={platform}')}" for platform in found["offered"].get(gpu, ())]
    choose = f" If you know it, add {' or '.join(offered)}." if offered else ""
    return f"GPU name without a platform: {gpu} ({rows} rows). {found['reasons'].get(gpu, '')}{choose}"


def list_command(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Prices in force, or every version of one platform's prices."""
    import json

    import analysis

    platform = str(arguments.get("platform") or "")
    with store.view() as view:
        result = analysis.run("pricebook", view, {"platform": platform})
    told = json.loads(result.to_json())
    rows = told["tables"]["history" if platform else "prices"]
    return {"answer": told["answer"], "prices": rows, "versions": told["versions"]}


def _enter(store: "Store", plan: "ImportPlan", arguments: Mapping[str, Any]) -> int:
    """Enter the prices of a plan as one decision and return its id; UserError when there are none."""
    from data.money.import_checks import by_trap
    from data.money.price_entry import import_prices

    if not plan.prices:
        why = " ".join(
            f"{n} {'row' if n == 1 else 'rows'}: {words}" for _, n, words in by_trap(plan.set_aside)
        )
        more = "Run it with --dry-run: that names every row, and the GPU names that you may map."
        raise UserError("The file holds no price that can be used", plan.file, f"{why} {more}".strip())
    day, source = date.fromisoformat(arguments["date"]), str(arguments["source"])
    return import_prices(store, plan.prices, as_of=day, source=source, file=plan.file, sha256=plan.sha256).id


def import_command(store: "Store", arguments: Mapping[str, Any], _: "Progress") -> dict[str, Any]:
    """Plan an import and, unless it is a dry run, enter its prices as one decision."""
    from data.catalogue_types import RENT_KINDS
    from data.money.import_checks import by_trap
    from data.money.import_plan import ImportChoices, plan_import

    path, kind = Path(str(arguments["path"])), str(arguments["kind"])
    if kind not in RENT_KINDS:
        raise UserError(f"'{kind}' is no kind of rent", "kind", f"Use one of {', '.join(RENT_KINDS)}.")
    choices = ImportChoices(arguments["provider"], arguments["gpu"], arguments["currency"], kind)
    with store.view() as view:
        plan = plan_import(path.read_bytes(), path.name, view.catalogue, choices)
    return {
        "file": plan.file,
        "format": plan.format,
        "decision": None if arguments["dry_run"] else _enter(store, plan, arguments),
        "rows": plan.rows,
        "priced": plan.priced,
        "set_aside_rows": len(plan.set_aside),
        "ignored_rows": sum(plan.ignored.values()),
        "prices": list(plan.prices),
        "set_aside": by_trap(plan.set_aside),
        "rows_set_aside": [vars(row) for row in plan.set_aside],
        "dropped_spot": by_trap(plan.dropped_spot),
        "findings": list(plan.findings),
        "unknown": dict(plan.unknown),
        "reasons": dict(plan.reasons),
        "offered": {gpu: list(ids) for gpu, ids in plan.offered.items()},
    }
