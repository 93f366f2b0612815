"""The same jobs without a browser: import, facts, analyse, report, link, serve."""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from data.errors import UserError
from reports import (
    details_commands,
    forecast_commands,
    joining,
    link_commands,
    price_commands,
    report_commands,
    rule_commands,
    validate_command,
)
from reports.arguments import found_files, json_object, mapping_choices, telling_names
from reports.terminal import (
    Bar,
    Watched,
    candidates,
    print_answer,
    print_passed_over,
    print_receipt,
    sentence,
)

REFUSED, USAGE = 1, 2
ROOT = Path(__file__).resolve().parent
_MODULES = {
    "rules": rule_commands,
    "forecast": forecast_commands,
    "details": details_commands,
    **dict.fromkeys(link_commands.NAMES, link_commands),
    **dict.fromkeys(report_commands.NAMES, report_commands),
}
CHOICES = ("run", "platform", "llm", "campaign", "timezone", "host", "format")
COUNTS = ("gpus", "gpus_train", "gpus_rollout", "step")


class Refused(Exception):  # noqa: N818 - it is the outcome, not a fault
    """The server has refused; holds the error as it came."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("what", ""))
        self.error = dict(error)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done, 1 refused, 2 wrong usage."""
    options = parser().parse_args(arguments)
    try:
        return int(options.work(options))
    except Refused as refusal:
        return _refuse(refusal.error, options)
    except UserError as error:
        from reports.uploads import error_dict

        return _refuse(error_dict(error), options)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of a pipe has seen enough
        return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    top = argparse.ArgumentParser(prog="cli.py", description="Intelligence per Dollar without a browser.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _import_parser(commands)
    _common(joining.add_parser(commands), "join")
    for module in (price_commands, rule_commands, forecast_commands, details_commands):
        for name, command in module.add_parsers(commands).items():
            _common(command, name)
    _ask_parsers(commands)
    validate_command.add_parser(commands)
    for shared in (report_commands, link_commands):
        for name, command in shared.add_parsers(commands, _freeze_options).items():
            _common(command, name)
    serve = commands.add_parser("serve", help="start the app, or only its shared reports")
    serve.add_argument("--links-only", action="store_true", help="serve /r/ and /healthz and nothing else")
    serve.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port (default: 8501, links only 8502)")
    _common(serve, "serve", json_flag=False)
    return top


def _import_parser(commands: Any) -> None:
    load = commands.add_parser("import", help="load files, folders, archives and print their receipts")
    load.add_argument("files", nargs="+", metavar="FILE", help="a file, folder, zip, tar, gz or quoted glob")
    for name in CHOICES:
        load.add_argument(f"--{name}")
    load.add_argument("--map", type=mapping_choices, default={}, metavar="FILE.json", help="a column mapping")
    for name in COUNTS:
        load.add_argument(f"--{name.replace('_', '-')}", type=_positive, metavar="N")
    _common(load, "import")


def _ask_parsers(commands: Any) -> None:
    facts = commands.add_parser("facts", help="print what a file says; needs no home")
    facts.add_argument("file", metavar="FILE")
    facts.add_argument("--timezone")
    facts.add_argument("--format", help="read it as this format instead of recognising it")
    facts.add_argument("--json", action="store_true")
    facts.set_defaults(work=_facts)
    ask = commands.add_parser("analyse", help="answer a question")
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument("--params", type=json_object, default={}, metavar="JSON")
    _common(ask, "analyse")


def _freeze_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--question", help="default: the Overview of all runs")
    command.add_argument(
        "--notebook", type=_positive, metavar="N", help="run and freeze this notebook instead"
    )
    command.add_argument("--params", type=json_object, default={}, metavar="JSON")
    command.add_argument("--title")
    command.add_argument("--hide-dollars", action="store_true", help="leave amounts of money out")
    command.add_argument("--hide-names", action="store_true", help="replace host, user and team names")
    command.add_argument("--hide-runs", action="store_true", help="replace run and campaign names")


def _common(command: argparse.ArgumentParser, name: str, *, json_flag: bool = True) -> None:
    command.add_argument("--home", help="home directory (default: IPD_HOME, else var/)")
    if json_flag:
        command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(work=_WORK[name], command=name)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def _import(options: argparse.Namespace) -> int:
    chosen = {n: getattr(options, n) for n in (*CHOICES, *COUNTS) if getattr(options, n) is not None}
    chosen = {**options.map, **chosen}
    paths, errors = found_files(options.files)
    names = telling_names(paths)
    receipts: list[Mapping[str, Any]] = []
    passed_over: list[Mapping[str, Any]] = []
    for path, name in zip(paths, names, strict=True):
        arguments = {"path": str(path.resolve()), "name": name, "choices": chosen}
        try:
            answer = _perform(options, "import", arguments, Bar(name))
        except Refused as refusal:
            words = {name: word for name, word in refusal.error.items() if name != "table"}
            errors.append({"file": str(path), **words})
        else:
            receipts += answer.get("receipts", [answer])
            passed_over += answer.get("passed_over", [])
            errors += answer.get("errors", [])
    for error in errors:
        print("\n".join([sentence(error, error["file"]), *candidates(error)]), file=sys.stderr)
    if options.json:
        _print_json(
            {
                "receipts": receipts,
                **({"passed_over": passed_over} if passed_over else {}),
                **({"errors": errors} if errors else {}),
            }
        )
    else:
        for receipt in receipts:
            print_receipt(receipt)
        print_passed_over(passed_over)
    return REFUSED if errors else 0


def _join(options: argparse.Namespace) -> int:
    return joining.work(options, _perform, _print_json if options.json else print_receipt)


def _money(options: argparse.Namespace) -> int:
    work = _MODULES.get(options.command, price_commands).work
    return work(options, _perform, _print_json if options.json else None)


def _facts(options: argparse.Namespace) -> int:
    from data.facts import facts_of

    path = Path(options.file).expanduser()
    if not (path.is_file() or path.is_dir()):
        what = "This is no file but a device" if path.exists() else "There is no such file"
        raise UserError(what, options.file, "Check the path.")
    bar = Bar(path.name)
    try:
        found = facts_of(path, options.timezone, bar.show, options.format)
    finally:
        bar.clear()
    if options.json:
        _print_json(found)
    else:
        print(f"{found['file']}: {found['format']}")
        for key, value in found["facts"].items():
            print(f"  {key} = {'not known' if value is None else value}")
    return 0


def _analyse(options: argparse.Namespace) -> int:
    found = _perform(options, "analyse", {"question": options.question, "params": options.params})
    if options.json:
        _print_json(found)
        return 0
    print_answer(found)
    return 0


def _serve(options: argparse.Namespace) -> int:
    from reports.home import home_path

    home = home_path(options.home)
    if options.links_only:
        return _serve_links(home, options.host or "127.0.0.1", options.port or 8502)
    host, port = options.host or "127.0.0.1", str(options.port or 8501)
    command = [
        "-m",
        "streamlit",
        "run",
        str(ROOT / "app.py"),
        "--server.address",
        host,
        "--server.port",
        port,
    ]
    os.chdir(ROOT)
    _check_address(host)
    os.environ["IPD_HOME"] = str(home)
    sys.stdout.flush()
    return os.execv(sys.executable, [sys.executable, *command])  # noqa: S606 - our own interpreter


def _check_address(host: str) -> None:
    """Refuse before Streamlit prints an address or opens a socket; the app checks again when it starts."""
    from reports.addresses import is_loopback
    from reports.middleware import check_address, open_to_all

    if is_loopback(host):
        return
    from streamlit.runtime.secrets import secrets_singleton

    signs_in = secrets_singleton.load_if_toml_exists() and "auth" in secrets_singleton
    check_address(host, open_to_all(signs_in))


def _serve_links(home: Path, host: str, port: int) -> int:
    import uvicorn

    from reports.serve import links_only_app

    app = links_only_app(home)
    shown = f"[{host}]" if ":" in host else host
    print(f"Shared reports of {home} on http://{shown}:{port}/r/…", flush=True)
    uvicorn.run(app, host=host, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=5)
    return 0


def _perform(
    options: argparse.Namespace, command: str, arguments: Mapping[str, Any], bar: Bar | None = None
) -> dict[str, Any]:
    """Let the server do it when one holds the home, else do it here. Raises Refused."""
    from reports.home import NoServerError, ask_cancel, ask_server, home_path

    home = home_path(options.home)
    job = secrets.token_urlsafe(16)
    try:
        with Watched(bar, home, job):
            reply = ask_server(home, command, arguments, job)
    except NoServerError:
        reply = None
    except KeyboardInterrupt:
        ask_cancel(home, job)
        raise
    if reply is None:
        return _perform_here(home, command, arguments, bar)
    if "error" in reply:
        raise Refused(reply["error"])
    return dict(reply["answer"])


def _perform_here(home: Path, command: str, arguments: Mapping[str, Any], bar: Bar | None) -> dict[str, Any]:
    from data.readers.base import no_progress
    from data.store import get_store
    from reports.jobs import run_command
    from reports.uploads import error_dict

    try:
        store = get_store(home)
        return run_command(store, command, arguments, bar.show if bar else no_progress)
    except UserError as error:
        raise Refused(error_dict(error)) from error
    finally:
        if bar:
            bar.clear()


def _print_json(value: Mapping[str, Any]) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _refuse(error: Mapping[str, Any], options: argparse.Namespace) -> int:
    print("\n".join([sentence(error), *candidates(error)]), file=sys.stderr)
    if getattr(options, "json", False):
        _print_json({"error": dict(error)})
    return REFUSED


_WORK: dict[str, Callable[[argparse.Namespace], int]] = {
    "import": _import,
    "join": _join,
    "prices list": _money,
    "prices import": _money,
    "rules": _money,
    "details": _money,
    "forecast": _money,
    "analyse": _analyse,
    **dict.fromkeys((*report_commands.NAMES, *link_commands.NAMES), _money),
    "serve": _serve,
}

if __name__ == "__main__":
    sys.exit(main())
