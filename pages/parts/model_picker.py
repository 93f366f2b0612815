"""The list of models: found however a person spells one, and marked where nothing can be projected of it."""

import streamlit as st

from analysis.words import listing
from data.catalogue import Catalogue
from data.errors import UserError
from data.model_names import model_labels, models_like

HINT = (
    "Platform generations needs it: seconds by phase follow from the shape of the model. A model marked "
    "'no shape' can be priced, but projected only as a whole step."
)


def pick_model(catalogue: Catalogue, start: str | None, key: str, *, shaped_only: bool = False) -> str | None:
    """Draw the list; returns an id of the catalogue, or what was typed. `resolve_model` makes it an id."""
    labels = model_labels(catalogue, shaped_only=shaped_only)
    options = list(labels)
    picked = st.selectbox(
        "Model",
        options,
        index=options.index(start) if start in options else None,
        placeholder="Choose or type its name",
        accept_new_options=True,
        filter_mode="contains",
        format_func=lambda option: labels.get(option, option),
        help=HINT,
        key=key,
    )
    return picked.strip() or None if isinstance(picked, str) else None


def resolve_model(catalogue: Catalogue, typed: str | None) -> str | None:
    """The id of a model as typed. Raises UserError where none, or more than one, is spelled like it."""
    if typed is None:
        return None
    found = models_like(catalogue, typed)
    if len(found) == 1:
        return found[0]
    if found:
        names = [catalogue.llm_names()[m] for m in found]
        raise UserError(f"'{typed}' may be {listing(names, 6)}", "model", "Choose one of them.")
    raise UserError(f"The catalogue has no model spelled like '{typed}'", "model", "Choose one of the list.")
