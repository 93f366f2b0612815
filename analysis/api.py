"""The Python API: open a home, ask its questions, get answers with pandas tables (docs/python-api.md).

Nothing here draws or serves: it needs neither plotly nor streamlit.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd

from analysis.madeup import default_runs
from analysis.moneyparams import MoneyParams
from analysis.registry import QUESTIONS, run
from analysis.result import Assumption, Figure, Notice, Result
from data.errors import HomeBusyError, UserError
from data.readonly import ReadOnlyHome
from data.rows import arrow_table
from data.served import NoServerError, ask_server, home_path, read_note
from data.view import View


class Home:
    """A home that answers questions: read from its files, or asked of the server that holds it.

    Use it in a `with` block: while its files are open, no app can write to them. `served` tells which it is.
    """

    def __init__(self, path: Path, files: ReadOnlyHome | None) -> None:
        """Use `open_home`."""
        self.path = path
        self._files = files

    @property
    def served(self) -> bool:
        """Whether a running server answers."""
        return self._files is None

    @property
    def questions(self) -> dict[str, str]:
        """Question -> its title, all that can be asked."""
        return {name: question.title for name, question in QUESTIONS.items()}

    def ask(self, question: str, params: Mapping[str, Any] | None = None, **more: Any) -> Result:
        """Answer a question; `params` as a page, a notebook or a report saves them, `more` on top of them.

        UserError names the question or parameter that is wrong. Tables are pandas frames; a server sends 15
        significant digits, columns by the alphabet, and an empty table without any.
        """
        asked = {**(params or {}), **more}
        if self._files is None:
            return _ask_server(self.path, question, asked)
        with self._files.view() as view:
            return answer(view, question, asked)

    def close(self) -> None:
        """Let go of the files."""
        if self._files is not None:
            self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_home(path: str | Path | None = None) -> Home:
    """Open a home read-only; `path` None is IPD_HOME, else `var/` beside the code.

    A running server is asked where one holds the home. UserError for a folder that is no home or of another
    version of the app, HomeBusyError while a process without a server holds it.
    """
    home = home_path(str(path) if path is not None else None)
    try:
        return Home(home, ReadOnlyHome(home))
    except HomeBusyError:
        if read_note(home) is None:
            raise
        return Home(home, None)


def ask(
    question: str,
    params: Mapping[str, Any] | None = None,
    *,
    home: str | Path | None = None,
    **more: Any,
) -> Result:
    """Open a home, ask one question, close it again: see `open_home` and `Home.ask`."""
    with open_home(home) as opened:
        return opened.ask(question, params, **more)


def answer(view: View, question: str, params: Mapping[str, Any]) -> Result:
    """Answer on a pinned view, about the runs that a page would be about where `params` names none.

    Those are one's own where any is held beside the example; an empty list asks for all. A bill leaves the
    example out by itself.
    """
    asked, found = dict(params), QUESTIONS.get(question)
    by_run = found is not None and not issubclass(found.params, MoneyParams)
    if found and by_run and "runs" in found.params.model_fields and not {"runs", "example"} & set(asked):
        asked |= {"runs": default_runs(view)}
    return run(question, view, asked)


def _ask_server(home: Path, question: str, params: Mapping[str, Any]) -> Result:
    try:
        asked = {"question": question, "params": dict(params)}
        reply = ask_server(home, "analyse", asked, secrets.token_urlsafe(16))
    except NoServerError as error:
        raise UserError(
            "The server that holds this home does not answer",
            str(home),
            "Wait for it, or stop it, and open again.",
        ) from error
    if "error" in reply:
        told = reply["error"]
        raise UserError(told.get("what", ""), told.get("where", ""), told.get("remedy", ""))
    return _result(reply["answer"])


def _result(raw: Mapping[str, Any]) -> Result:
    """A result from its JSON form."""
    return Result(
        raw["analysis"],
        raw["params"],
        raw["answer"],
        tuple(Figure(**f) for f in raw["headline"]),
        {name: _frame(rows) for name, rows in raw["tables"].items()},
        tuple(Assumption(**a) for a in raw["assumptions"]),
        tuple(Notice(**n) for n in raw["warnings"]),
        raw["versions"],
    )


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = list(rows[0]) if rows else []
    frame: pd.DataFrame = arrow_table(rows, columns).to_pandas()
    return frame
