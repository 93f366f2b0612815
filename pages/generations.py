"""Platform generations: a measured run on other platforms, and published runs side by side with yours."""

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.claims import claim_menu
from analysis.prices import split_price
from analysis.result import Result
from charts.synthetic import is_synthetic
from data.errors import UserError
from data.queries import frame as frame_queries
from data.queries.known import runs_by_arrival
from pages.parts import generation_claims as claims
from pages.parts import generation_levers as levers
from pages.parts import generation_models as models
from pages.parts import generation_projection as parts
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.compute import compute
from pages.parts.figures import show_figures
from pages.parts.frame import show_title
from pages.parts.generation_published import published
from pages.parts.notices import show_error, show_warnings
from pages.parts.share import share_bar
from pages.parts.state import current

TITLE = "Platform generations"


def answered(asked: dict[str, Any], trainer: str, menu: pd.DataFrame, below: DeltaGenerator) -> Result:
    """Ask, draw the levers that need a first answer (quotes here, claims `below`), and ask with them.

    Raises UserError where the question refuses.
    """
    place = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="pr_equal")
    with place:
        asked = {**asked, "hold": levers.hold(), **levers.precision()}
    with st.spinner("Projecting to other platforms …"):
        asked = {**asked, "targets": aimed_at(asked, trainer)}
        wanted = levers.focus_of(picked["targets"], trainer, names, spoken_of)
        asked["focus"] = wanted if wanted in asked["targets"] else ""
        if not (asked["focus"] or trainer):
            asked["targets"] = picked["targets"]  # the question knows the usual ones: its answer is warm
        plain = compute("projection", asked)
    if not parts.can_be_shown(plain):
        return plain
    pools = levers.pools_of(plain.tables["platforms"])
    choices = {p: catalogue.price(p, *split_price(state.common.price)) for p in pools}
    with place:
        quotes = levers.quotes(pools, names, {p: c and c.usd_per_gpu_h for p, c in choices.items()})
    with below:
        on = claims.switches(menu)
    if not (quotes or on):
        return plain
    with st.spinner("Comparing with quotes and claims …"):
        return compute("projection", {**asked, "quotes": quotes, "claims": on})


def aimed_at(asked: dict[str, Any], trainer: str) -> list[str]:
    """Return the targets asked for, else the usual ones of the run; none where the question knows best."""
    own = next((p for run, p in held.items() if p and asked["run"] in ("", run)), [])
    shown = asked["targets"] or levers.newer(own, catalogue.platforms())
    if trainer and not shown:
        shown = levers.targets_of(compute("projection", asked).tables["platforms"])
    return levers.with_trainer(shown, trainer)


def show_projection(result: Result) -> None:
    """Draw everything of a run that could be projected, what is left of claims under their switches."""
    with body:
        parts.show_main(result, state.theme)
        models.show_cautions(result)
        parts.show_details(result, state.theme)
    with below:
        claims.show_left(parts.worded(result), state.theme)
    parts.show_tables(result)
    st.caption(parts.DOLLARS)
    st.page_link("backtest.py", label=parts.HOW_WRONG, icon=":material/rule:")


state = current()
with state.view() as view:
    catalogue = view.catalogue
    names = {p.platform_id: p.name for p in catalogue.platforms() if p.kind in ("gpu", "tpu")}
    menu = claim_menu(catalogue)
    spoken_of = dict(zip(menu["claim_id"], menu["target"], strict=True))
    known = frame_queries.runs(view).set_index("run")["platforms"]
    held = {run: known[run] for run in state.common.runs or runs_by_arrival(view) if run in known.index}
head = st.container()
result: Result | None = None
picked, trainer = levers.levers(list(held), names) if held else ({}, "")
controls, body, below = st.container(), st.container(), st.container()
try:
    with controls:
        result = answered(picked, trainer, menu, below) if held else compute("projection")
except UserError as error:
    show_error(error)
shown = result if result is not None and parts.can_be_shown(result) else None
with head:
    place = show_title(TITLE, synthetic=shown is not None and is_synthetic(shown), bar=False)
    if shown is not None:
        show_answer(shown)
        show_figures(shown)
        models.show_gaps(state, catalogue, shown)
        show_warnings(models.other_notices(shown))
    elif result is not None:
        parts.show_lacking(state, result)
if shown is not None:
    show_projection(shown)
beside = published(state)
results = [beside] if shown is None else [shown, beside]
with place:
    share_bar(results, TITLE)
show_how(results, key="generations")
