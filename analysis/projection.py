"""A measured run on other platforms: step time, GPUs, dollars, and the price below which moving pays."""

from collections.abc import Sequence

import pandas as pd

from analysis.candidates import candidates
from analysis.checks import find_checks
from analysis.checks import notices as check_notices
from analysis.claims import COLUMNS as CLAIMS
from analysis.claims import check_claims
from analysis.common import nothing, result
from analysis.projection_belief import belief_notices
from analysis.projection_claims import claims_table
from analysis.projection_even import EVEN, breakeven_table
from analysis.projection_model import Asked, Modelled, modelled, seen_on, source_base
from analysis.projection_money import point_cost, rents_of
from analysis.projection_params import ProjectionParams
from analysis.projection_run import SourceRun, read_run
from analysis.projection_said import assumptions, notices, refusal_words
from analysis.projection_seen import Base, Seen
from analysis.projection_tables import (
    CALIBRATION,
    DRIVERS,
    GAPS,
    PHASE_COLUMNS,
    PLATFORMS,
    WHOLE,
    calibration_table,
    drivers_table,
    gaps_table,
    phases_table,
    platforms_table,
    whole_table,
)
from analysis.projection_targets import aims, release_rank
from analysis.projection_words import answer, beside_notices, best_of, figures
from analysis.result import Notice, Result
from analysis.spend import synthetic_notice
from analysis.words import listing
from data.errors import UserError
from data.gpu.claims import contradicted
from data.queries.filters import Filters
from data.view import View

__all__ = ["ProjectionParams", "compute"]

CORRECT = "Correct the GPUs, the mode or the log of the run: Telemetry page, run details."

EMPTY = {
    "platforms": PLATFORMS,
    "phases": PHASE_COLUMNS,
    "breakeven": EVEN,
    "calibration": CALIBRATION,
    "drivers": DRIVERS,
    "claims": list(CLAIMS),
    "whole_step": WHOLE,
    "gaps": GAPS,
}


def compute(view: View, params: ProjectionParams) -> Result:
    """Tables: platforms, phases, breakeven, calibration, drivers, claims, whole_step, gaps.

    A run that cannot be projected is an answer with the reason, a notice `cannot_project` and empty tables.
    Raises UserError for a run, platform, quote or claim that does not exist.
    """
    rents = rents_of(view.catalogue, params)
    check_claims(view.catalogue, params.claims)
    names = candidates(view, params, params.run)
    if not names:
        return nothing("projection", view, params, EMPTY)
    source, model = _chosen(view, params, names)
    asked = Asked(view.catalogue, params, source, rents, model)
    if source.blocked or (model is not None and model.refused):
        return _refused(view, asked, names)
    aimed = aims(view.catalogue, params, source)
    if params.focus and params.focus not in {aim.target for aim in aimed}:
        told = listing([aim.target for aim in aimed], 24)
        raise UserError(f"'{params.focus}' is not projected", "parameter focus", f"Use one of {told}.")
    found = seen_on(asked, aimed)
    return _answered(view, asked, sorted(found, key=lambda one: release_rank(one.aim)))


def _chosen(view: View, params: ProjectionParams, names: Sequence[str]) -> tuple[SourceRun, Modelled | None]:
    """The first run that can be projected by phases, else by its whole step, else the first of all."""
    tried: list[tuple[SourceRun, Modelled | None]] = []
    for name in names:
        source = read_run(view, name, params.price)
        model = modelled(view.catalogue, params, source)
        tried.append((source, model))
        if model is not None and not model.refused:
            return source, model
    whole = [one for one in tried if not one[0].blocked and one[1] is None]
    return (whole or tried)[0]


def _refused(view: View, asked: Asked, names: Sequence[str]) -> Result:
    """The answer when no run can be projected: what is missing or contradicts physics, and what to do."""
    source, model = asked.source, asked.model
    words = source.blocked
    if not words and model is not None:
        words = f"{refusal_words(source.run, model.calibration.refusals)} {CORRECT}"
    words = words if words.endswith(".") else f"{words}."
    tables = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    tables["calibration"] = calibration_table(model.calibration if model else None)
    told = [Notice("cannot_project", words, source.run), *source.notices, *_said_of(view, source)]
    more = len(names) - 1
    tail = f" None of the {more} other picked runs can be projected either." if more else ""
    return result("projection", view, asked.params, words + tail, tables=tables, notices=told)


def _said_of(view: View, source: SourceRun) -> list[Notice]:
    made_up = synthetic_notice([source.run] if source.synthetic else [])
    told = contradicted(view.rows, [source.run])
    failed = check_notices(find_checks(view, Filters((source.run,)), "projection"))
    return [
        *made_up,
        *(Notice("gpus_contradicted", words, run) for run, words in sorted(told.items())),
        *failed,
    ]


def _answered(view: View, asked: Asked, seen: Sequence[Seen]) -> Result:
    params, book = asked.params, asked.book
    point = point_cost(view, params, asked.source.run, params.draws)
    base = source_base(asked, point, {one.aim.target for one in seen})
    rents = {one.aim.target: asked.rents.all_of(one.aim, one.count) for one in seen}
    even = breakeven_table(book, base, seen, rents)
    claims, claim_notices = claims_table(asked, seen)
    platforms = platforms_table(book, base, seen, even)
    return result(
        "projection",
        view,
        params,
        answer(book, base, seen, params.focus),
        headline=figures(base, seen, asked, params.boundary),
        tables={
            "platforms": platforms,
            "phases": phases_table(book, base, seen),
            "breakeven": even,
            "calibration": calibration_table(asked.model.calibration if asked.model else None),
            "drivers": drivers_table(seen),
            "claims": claims,
            "whole_step": whole_table(seen),
            "gaps": gaps_table(asked.source),
        },
        assumptions=assumptions(asked, seen),
        notices=[
            *beside_notices(book, base, seen, params),
            *_beliefs(asked, base, seen),
            *notices(asked, seen),
            *claim_notices,
            *_said_of(view, asked.source),
        ],
        prices=_price_ids(platforms),
    )


def _beliefs(asked: Asked, base: Base, seen: Sequence[Seen]) -> list[Notice]:
    engines = asked.source.pools.engines
    if engines is None:
        return []
    best = best_of(base, seen, asked.params.focus)
    return belief_notices(asked.book, engines.platform_id, best, seen)


def _price_ids(platforms: pd.DataFrame) -> pd.DataFrame:
    """Single price ids; a target on two platforms joins two."""
    ids = platforms["price_id"].fillna("").str.split(" + ", regex=False).explode()
    return pd.DataFrame({"price_id": ids[ids != ""]})
