"""Scenarios side by side: each is answered anew, and what differs between them is marked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, field_validator

from analysis.common import result
from analysis.params import CommonParams
from analysis.result import Assumption, Figure, Notice, Result
from analysis.scenariowords import (
    Label,
    difference,
    labels_of,
    named,
    shown_figure,
    shown_input,
    summary,
)
from analysis.words import listing
from data.catalogue import Catalogue
from data.errors import UserError
from data.view import View

MOST_CASES = 6
MARK = "differs"
FIXED = {"figures": ("figure", "unit", MARK), "inputs": ("input", "unit", MARK)}
"""Columns of the wide tables before one column a scenario."""
VALUES = ("scenario", "question", "name", "label", "value", "low", "high", "unit", "change_frac", "missing")
CASES = ("scenario", "question", "answer", "missing")
NONE = (
    "No scenario is chosen: save what a page shows as a scenario, then pick two or more to see them side by "
    "side."
)


class Case(BaseModel):
    """One question of a scenario: `params` as they were saved, for `version` of the question's parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    question: str
    params: dict[str, Any] = {}
    version: int = 1


class ScenariosParams(CommonParams):
    """What is compared: cases in order, of which the first is what the others are held against.

    A case is an object or its JSON text. Runs, price and boundary are those of each case, not of the page.
    """

    question: ClassVar[str] = "scenarios"
    cases: tuple[Case, ...] = ()

    @field_validator("cases", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [json.loads(one) if isinstance(one, str) else one for one in value]

    @field_validator("cases")
    @classmethod
    def _few(cls, value: tuple[Case, ...]) -> tuple[Case, ...]:
        names = list(dict.fromkeys(one.name for one in value))
        if len(names) > MOST_CASES:
            raise ValueError(f"at most {MOST_CASES} scenarios fit side by side, not {len(names)}")
        if len({(one.name, one.question) for one in value}) < len(value):
            raise ValueError("two cases have the same name and question")
        return value


@dataclass(frozen=True)
class _Answered:
    """A case with its answer, or in words why there is none."""

    case: Case
    found: Result | None
    missing: str = ""


def compute(view: View, params: ScenariosParams) -> Result:
    """Answer each case and lay the answers side by side; a case that cannot be answered says why in its
    column.

    Tables: `scenarios` (answers), `figures` and `inputs` (one column a scenario, in words), `values` (the
    numbers of `figures`, with the change against the first scenario as a fraction of it).
    """
    if not params.cases:
        return result("scenarios", view, params, NONE, tables=_tables([], view.catalogue))
    answered = [_answer(view, case) for case in params.cases]
    tables = _tables(answered, view.catalogue)
    return result(
        "scenarios",
        view,
        params,
        summary([(one.case.name, one.found) for one in answered], tables["inputs"], MARK),
        headline=_headline(answered),
        tables=tables,
        assumptions=_assumptions(answered),
        notices=_notices(answered),
        prices=_prices(answered),
    )


def _answer(view: View, case: Case) -> _Answered:
    """Ask one case; a refusal is part of the comparison, another error is not."""
    from analysis.registry import parse, run

    try:
        if case.question == "scenarios":
            raise UserError("A scenario cannot hold a comparison", "scenario", "Save the page it is about.")
        now = parse(case.question, case.params).version
        if now != case.version:
            raise UserError(
                f"It was saved for version {case.version} of '{case.question}', which is {now} now",
                "scenario",
                "Open it, check its inputs and save it again.",
            )
        return _Answered(case, run(case.question, view, case.params))
    except UserError as error:
        return _Answered(case, None, str(error))


def _tables(answered: Sequence[_Answered], book: Catalogue) -> dict[str, pd.DataFrame]:
    names = list(dict.fromkeys(one.case.name for one in answered))
    return {
        "scenarios": pd.DataFrame([_case_row(one) for one in answered], columns=list(CASES)),
        "figures": _wide("figures", _figure_rows(answered), names),
        "inputs": _wide("inputs", _input_rows(answered, book), names),
        "values": pd.DataFrame(_value_rows(answered), columns=list(VALUES)),
    }


def _case_row(one: _Answered) -> dict[str, Any]:
    answer = one.found.answer if one.found else ""
    return {
        "scenario": one.case.name,
        "question": one.case.question,
        "answer": answer,
        "missing": one.missing,
    }


def column_of(table: str, name: str) -> str:
    """Return the column of a scenario in a wide table: its name, unless a fixed column has that name."""
    return f"{name} (scenario)" if name in FIXED[table] else name


def _wide(table: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    """Rows of {label, unit, cells: scenario -> text} as one column a scenario, with the mark of a row whose
    cells are not all alike.
    """
    head = FIXED[table]
    out = []
    for row in rows:
        cells = [row["cells"].get(name, "–") for name in names]
        fixed = dict(zip(head, (row["label"], row["unit"], difference(cells)), strict=True))
        out.append(fixed | {column_of(table, name): cell for name, cell in zip(names, cells, strict=True)})
    return pd.DataFrame(out, columns=[*head, *(column_of(table, name) for name in names)])


def _figure_rows(answered: Sequence[_Answered]) -> list[dict[str, Any]]:
    """A row a headline figure, in the order in which they first come."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one, figure in _figures(answered):
        row = rows.setdefault(
            (one.case.question, figure.name),
            {"label": figure.label, "unit": figure.unit, "cells": {}, "first": figure},
        )
        row["cells"][one.case.name] = shown_figure(figure, row["first"])
    return list(rows.values())


def _figures(answered: Sequence[_Answered]) -> list[tuple[_Answered, Figure]]:
    return [(one, figure) for one in answered if one.found for figure in one.found.headline]


def _value_rows(answered: Sequence[_Answered]) -> list[dict[str, Any]]:
    first: dict[tuple[str, str], float | None] = {}
    rows = []
    for one, figure in _figures(answered):
        base = first.setdefault((one.case.question, figure.name), figure.value)
        known = figure.value is not None and base
        rows.append(
            {
                "scenario": one.case.name,
                "question": one.case.question,
                "name": figure.name,
                "label": figure.label,
                "value": figure.value,
                "low": figure.low,
                "high": figure.high,
                "unit": figure.unit,
                "change_frac": (figure.value or 0.0) / base - 1 if known and base else None,
                "missing": figure.missing or "",
            }
        )
    return rows


def _input_rows(answered: Sequence[_Answered], book: Catalogue) -> list[dict[str, Any]]:
    """A row an input that any scenario gives or that differs; inputs that all leave alone are not listed."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in answered:
        params = one.found.params if one.found else one.case.params
        labels = labels_of(one.case.question, one.found)
        for name, value in params.items():
            known = labels.get(name, Label(name.replace("_", " "), ""))
            row = rows.setdefault(
                (one.case.question, name),
                {"label": known.label, "unit": known.unit, "cells": {}, "plain": True},
            )
            row["cells"][one.case.name] = shown_input(named(name, value, book), known)
            row["plain"] &= value in (known.default, None, [], ())
    return [row for row in rows.values() if not row["plain"] or len(set(row["cells"].values())) > 1]


def _headline(answered: Sequence[_Answered]) -> tuple[Figure, ...]:
    """The first figure of each scenario under its name, where all have one of the same name."""
    firsts = [(one.case.name, one.found.headline[0]) for one in answered if one.found and one.found.headline]
    if not firsts or len({figure.name for _, figure in firsts}) > 1:
        return ()
    return tuple(
        Figure(**{**vars(figure), "name": f"{figure.name}_{number}", "label": f"{name}: {figure.label}"})
        for number, (name, figure) in enumerate(firsts, start=1)
    )


def _assumptions(answered: Sequence[_Answered]) -> list[Assumption]:
    return [item for one in answered if one.found for item in one.found.assumptions]


def _notices(answered: Sequence[_Answered]) -> list[Notice]:
    """What the answers warn of, with the scenarios each warning is about, and what was refused."""
    where: dict[tuple[str, str, str], list[str]] = {}
    for one in answered:
        for item in one.found.warnings if one.found else ():
            where.setdefault((item.code, item.text, item.where), []).append(one.case.name)
    every = {one.case.name for one in answered}
    out = [
        Notice(code, text if set(names) == every else f"{listing(list(dict.fromkeys(names)))}: {text}", place)
        for (code, text, place), names in where.items()
    ]
    return [
        *out,
        *(Notice("scenario_refused", f"{one.case.name}: {one.missing}") for one in answered if one.missing),
    ]


def _prices(answered: Sequence[_Answered]) -> pd.DataFrame:
    used = [p for one in answered if one.found for p in one.found.versions.get("prices", [])]
    return pd.DataFrame({"price_id": list(dict.fromkeys(used))}, dtype=object)
