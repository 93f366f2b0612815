"""What every answer carries: versions, notices without repeats, and the words for an empty home."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from analysis.formulas import FORMULAS, FORMULAS_VERSION
from analysis.params import CommonParams
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import listing
from data.queries.known import has_uploads, runs_by_arrival
from data.version import APP_VERSION
from data.view import View

EMPTY = (
    "Nothing is loaded yet: load the bundled example, or drop a training log on the Telemetry page, to see "
    "what a run cost and what it bought."
)
NO_RUNS = (
    "Files are loaded, but none of them names a run: upload a training log, or say which run held the GPUs "
    "that were sampled."
)
NO_MATCH = "No run matches the chosen runs and platforms: clear a filter in the sidebar."


def versions(view: View, price_ids: Iterable[str] = ()) -> dict[str, Any]:
    """Everything that would have to be equal for the same call to give the same answer."""
    cutoff = view.data_cutoff
    book = view.catalogue
    return {
        "app": APP_VERSION,
        "formulas": FORMULAS_VERSION,
        "prices": sorted({one if "@" in one else book.price_key(one) for one in price_ids}),
        "price_book": book.price_book_date,
        "catalogue": book.version,
        "money_decisions": view.money_version,
        "data_version": view.data_version,
        "data_cutoff": f"{cutoff.isoformat()}Z" if cutoff is not None else None,
    }


def figure(metric: str, value: float | None, **more: Any) -> Figure:
    """A headline figure named after a formula, with that formula's text, label and unit unless given."""
    known = FORMULAS[metric]
    filled = {"label": known.name, "unit": known.unit, "formula": known.formula, **more}
    number = None if value is None or pd.isna(value) else float(value)
    for end in ("low", "high"):
        if filled.get(end) is not None and pd.isna(filled[end]):
            filled[end] = None
    if number is None:
        filled |= {"low": None, "high": None}
        filled.setdefault("missing", "the data on hand does not say")
    else:
        filled["missing"] = None
    return Figure(name=filled.pop("name", metric), value=number, **filled)


def result(
    question: str,
    view: View,
    params: CommonParams,
    answer: str,
    *,
    headline: Iterable[Figure] = (),
    tables: Mapping[str, pd.DataFrame] | None = None,
    assumptions: Iterable[Assumption] = (),
    notices: Iterable[Notice] = (),
    prices: pd.DataFrame | None = None,
) -> Result:
    """Put an answer together; `prices` is a frame with a `price_id` column. That data is made up is said
    first.
    """
    ids = prices["price_id"].dropna().astype(str).unique() if prices is not None else ()
    return Result(
        analysis=question,
        params=params.model_dump(mode="json"),
        answer=answer,
        headline=tuple(headline),
        tables=dict(tables or {}),
        assumptions=tuple(dict.fromkeys(assumptions)),
        warnings=tuple(sorted(one_a_text(notices), key=lambda notice: notice.code != "synthetic")),
        versions=versions(view, ids),
        home_runs=tuple(runs_by_arrival(view)),
    )


def one_a_text(notices: Iterable[Notice]) -> list[Notice]:
    """Join notices that differ only in the run they name: 'each of a, b and c' stands for them."""
    groups: dict[tuple[str, str], list[Notice]] = {}
    for notice in dict.fromkeys(notices):
        name = rf"(?<!\w){re.escape(notice.where)}(?!\w)" if notice.where else "$^"
        pattern = re.sub(name, "\0", notice.text, count=1)
        groups.setdefault((notice.code, pattern), []).append(notice)
    return [joined for (_, pattern), group in groups.items() for joined in _joined(pattern, group)]


def _joined(pattern: str, group: list[Notice]) -> list[Notice]:
    if len(group) == 1 or "\0" not in pattern:
        return group
    names = [notice.where for notice in group]
    text = pattern.replace("\0", f"each of {listing(names)}")
    return [Notice(group[0].code, text[:1].upper() + text[1:], "; ".join(names))]


def nothing(
    question: str,
    view: View,
    params: CommonParams,
    columns: Mapping[str, list[str]] | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
) -> Result:
    """The answer when no run is left: an empty home or filters that match nothing, with empty tables."""
    bare = {name: pd.DataFrame(columns=names) for name, names in (columns or {}).items()}
    bare |= tables or {}
    if params.runs or params.platforms:
        code, text = "no_match", NO_MATCH
    else:
        code, text = ("no_runs", NO_RUNS) if has_uploads(view) else ("empty_home", EMPTY)
    return result(question, view, params, text, tables=bare, notices=[Notice(code, text)])
