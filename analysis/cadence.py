"""A programme that comes back: how many GPUs and racks, by when, with which chance, for how much."""

import pandas as pd

from analysis.cadence_params import CadenceParams
from analysis.cadence_plan import focus_of, plans_of
from analysis.cadence_said import answer, assumptions, figures, notices
from analysis.cadence_settings import settings_rows
from analysis.cadence_source import Source, source_of
from analysis.cadence_tables import (
    CAMPAIGNS,
    CHECKPOINT,
    CURVE,
    FAILURES,
    LENGTH,
    PARTS,
    PLATFORMS,
    PROGRAMMES,
    campaigns_table,
    checkpoint_table,
    curve_table,
    failures_table,
    length_table,
    parts_table,
    platforms_table,
    programmes_table,
)
from analysis.cadence_tornado import TORNADO, tornado_table
from analysis.common import nothing, result
from analysis.planning import SETTINGS
from analysis.result import Notice, Result
from data.view import View

__all__ = ["CadenceParams", "compute"]

EMPTY = {
    "platforms": PLATFORMS,
    "curve": CURVE,
    "length": LENGTH,
    "tornado": TORNADO,
    "parts": PARTS,
    "failures": FAILURES,
    "checkpoint": CHECKPOINT,
    "programmes": PROGRAMMES,
    "campaigns": CAMPAIGNS,
    "settings": SETTINGS,
}


def compute(view: View, params: CadenceParams) -> Result:
    """Tables: platforms, curve, length, tornado, parts, failures, checkpoint, programmes, campaigns,
    settings.

    A source that gives no plan is an answer with the reason, a notice `cannot_plan` and empty tables. Raises
    UserError for a run, platform, model or quote that does not exist.
    """
    source = source_of(view, params)
    if source is None:
        return nothing("cadence", view, params, EMPTY)
    if source.blocked:
        return _refused(view, params, source)
    scaling, plans = plans_of(view, source, params)
    focus = focus_of(plans, params)
    saves = checkpoint_table(params, focus)
    best = saves.loc[saves["best"].astype(bool), "checkpoint_steps"]
    platforms = platforms_table(source, params, plans)
    told = assumptions(source, params, plans)
    return result(
        "cadence", view, params, answer(source, params, plans, focus),
        headline=figures(params, focus, int(best.iloc[0]) if len(best) and params.goodput is None else None),
        tables={
            "platforms": platforms,
            "curve": curve_table(source, plans, focus),
            "length": length_table(source, params, plans, scaling),
            "tornado": tornado_table(source, params, focus, scaling),
            "parts": parts_table(source, plans),
            "failures": failures_table(params, focus.fleet),
            "checkpoint": saves,
            "programmes": programmes_table(params, focus),
            "campaigns": campaigns_table(params, focus),
            "settings": settings_rows(source, params, focus, told),
        },
        assumptions=told,
        notices=notices(source, params, plans, focus, scaling),
        prices=platforms[platforms["price_id"] != ""],
    )  # fmt: skip


def _refused(view: View, params: CadenceParams, source: Source) -> Result:
    words = source.blocked if source.blocked.endswith(".") else f"{source.blocked}."
    tables = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    told = [Notice("cannot_plan", words, source.run.run), *source.run.notices]
    return result("cadence", view, params, words, tables=tables, notices=told)
