"""What an input is called: as on the question's own page where that asks for it, else by name and unit."""

from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from pages.parts import capacity_controls, capacity_plans, forecast_controls, own_controls
from pages.parts.words import column_label

_OWN = (own_controls,)
_PAGES: dict[str, tuple[ModuleType, ...]] = {
    "cadence": (capacity_controls,),
    "own_cost": _OWN,
    "tenure": (*_OWN, forecast_controls),
    "commitments": (*_OWN, forecast_controls),
    "forecast": (forecast_controls,),
}
_WORDS = {
    "runs": "Runs",
    "price": "Price (kind · tier)",
    "boundary": "Cost boundary",
    "platforms": "Platforms",
    "wanted": "Certainty (%)",
    "goodput": "Goodput (%)",
    "pue": "PUE",
    "wacc_frac": "Cost of capital (% a year)",
    "to_price": "To price",
    "llm": "Model",
    "x": "Horizontal axis",
    "draws": "Draws",
    "seed": "Seed of the draws",
    "gen_precision": "Precision of rollouts there",
    "train_precision": "Precision of training there",
    "source_gen_precision": "Precision of rollouts as measured",
    "source_train_precision": "Precision of training as measured",
    "targets": "Target platforms",
    "focus": "The answer speaks of",
    "target": "Score to reach (%)",
    "at_score": "At a score of (%)",
    "at_usd": "At so many USD",
    "floor": "Score by chance (%)",
}
_RATIOS = frozenset({"wanted", "goodput", "target", "at_score", "floor"})
"""Ratios whose name does not say so."""
_UNITS = {
    "min": "minutes",
    "gpu_s": "GPU-seconds",
    "s": "s",
    "h": "hours",
    "days": "days",
    "months": "months",
    "years": "years",
    "kw": "kW",
    "gib": "GiB",
    "usd": "USD",
}
PERCENT = 100.0


@cache
def label_of(question: str, name: str) -> tuple[str, float]:
    """Return the label of an input with its unit, and how many typed units make 1 of what is stored."""
    found = _on_pages(question).get(name)
    if found is not None:
        return found
    scale = PERCENT if name.endswith("_frac") or name in _RATIOS else 1.0
    if name in _WORDS:
        return _WORDS[name], scale
    for tail, unit in _UNITS.items():
        if name.endswith(f"_{tail}") and "_per_" not in name:
            return f"{column_label(name.removesuffix(f'_{tail}'))} ({unit})", scale
    label = column_label(name)
    return (label if scale == 1.0 or "%" in label else f"{label} (%)"), scale


@cache
def _on_pages(question: str) -> dict[str, tuple[str, float]]:
    """Labels and scales of the inputs of the question's page."""
    plan = next((p for p in capacity_plans.PLANS.values() if p.question == question), None)
    sources: list[Any] = [_constants(module) for module in _PAGES.get(question, ())]
    sources += [] if plan is None else [plan.boxes]
    return {one.name: (_label(one), float(one.scale)) for source in sources for one in _fields(source)}


def _constants(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


def _fields(value: Any) -> Iterator[Any]:
    """Every field in nested mappings and tuples; of two of one name the later one holds."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _fields(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _fields(inner)
    elif not isinstance(value, type) and hasattr(value, "label") and hasattr(value, "scale"):
        yield value


def _label(one: Any) -> str:
    unit = getattr(one, "unit", "")
    label = str(one.label).replace("… likely", "Likelihood")
    return f"{label} ({unit})" if unit else label
