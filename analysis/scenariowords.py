"""Words of a comparison: inputs with their units, figures with their change, what differs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.chances import bound
from analysis.frames import records
from analysis.result import Figure, Result
from analysis.words import count, digits3, listing, money, percent, plural
from data.catalogue import Catalogue

SAME, DIFFERS = "", "differs"
MOST_NAMED = 3
UNITS = {
    "frac": "%", "pct": "%", "usd": "USD", "s": "s", "h": "h", "days": "days", "months": "months",
    "years": "years", "gpus": "GPUs", "w": "W", "kw": "kW", "bytes": "bytes", "gb": "GB", "tok": "tokens",
}  # fmt: skip
"""Tail of a parameter's name -> its unit on screen."""
WORDS = {"gpu": "GPU", "gpus": "GPUs", "usd": "USD", "llm": "model", "p": "P", "kv": "KV", "cpu": "CPU"}
SHARED = {
    "runs": "Runs", "price": "Price", "boundary": "Cost boundary", "platforms": "Platforms of the runs",
    "targets": "Platforms", "focus": "The answer speaks of", "wanted": "Certainty to finish in time",
    "goodput": "Goodput as measured", "pay": "The fleet is paid", "steps": "Steps of a campaign",
    "quotes": "Your prices", "plan": "Plan", "stop": "Campaigns that end", "since": "Held against forecast",
    "share": "Other programmes", "budget_usd_month": "Budget a month", "growth_frac_month": "Growth a month",
    "growth_low": "Growth a month, low", "growth_high": "Growth a month, high",
    "level_change_frac": "The level changes by, a month", "window_days": "Days of history that count",
    "decline_low": "Prices fall a year by, least", "decline_mid": "Prices fall a year by",
    "decline_high": "Prices fall a year by, most", "range_frac": "Range of inputs without a published one",
    "months": "Months ahead",
}  # fmt: skip
"""Names of parameters that do not tell themselves."""
SHARES = frozenset({"wanted", "goodput", "growth_low", "growth_high", "down_prob", "up_prob", "next_prob"})
SHARES |= {"decline_low", "decline_mid", "decline_high"}
"""Parameters that are fractions without saying so in their name."""
PLATFORMS = frozenset({"platform", "platforms", "targets", "focus", "step_platform", "buy"})


@dataclass(frozen=True)
class Label:
    """What an input is called: label, unit, the default of the parameter, and what counted while it was
    left empty, None where nothing says so.
    """

    label: str
    unit: str
    default: Any = None
    used: Any = None


def difference(cells: Sequence[str]) -> str:
    """Return the mark of a row: what is not alike in all scenarios differs."""
    return DIFFERS if len(set(cells)) > 1 else SAME


def labels_of(question: str, found: Result | None) -> dict[str, Label]:
    """Return parameter -> (label, unit, default) of a question; its table `settings` knows labels best."""
    from analysis.registry import QUESTIONS

    if question not in QUESTIONS:
        return {}
    out: dict[str, Label] = {}
    for name, info in QUESTIONS[question].params.model_fields.items():
        default = list(info.default) if isinstance(info.default, tuple) else info.default
        out[name] = Label(info.title or SHARED.get(name) or _words(name), _unit(name), default)
    settings = found.tables.get("settings") if found else None
    if settings is not None and {"name", "label", "unit", "value"} <= set(settings.columns):
        for row in records(settings):
            if row["name"] in out:
                unit = _percent(str(row["unit"]))
                value = row["value"] if row["value"] == row["value"] else None
                out[row["name"]] = Label(str(row["label"]), unit, out[row["name"]].default, value)
    return out


def _percent(unit: str) -> str:
    """'%' for a fraction, with what follows it: '% a year'."""
    head, _, tail = unit.partition(" ")
    return f"% {tail}".strip() if head in ("frac", "fraction") else unit


def _unit(name: str) -> str:
    parts = name.split("_")
    if name in SHARES or "frac" in parts:
        return "%"
    if "per" in parts:
        return "USD" if "usd" in parts[: parts.index("per")] else ""
    return UNITS.get(parts[-1], "") if len(parts) > 1 else ""


def _words(name: str) -> str:
    parts = [part for part in name.split("_") if part != "frac"]
    if len(parts) > 1 and parts[-1] in UNITS and "per" not in parts and parts[-1] != "gpus":
        parts = parts[:-1]
    text = " ".join(WORDS.get(part, part) for part in parts)
    return text[:1].upper() + text[1:]


def named(name: str, value: Any, book: Catalogue) -> Any:
    """Return platforms of an input by their names, all else as it is."""
    if name not in PLATFORMS or _empty(value):
        return value
    if isinstance(value, list | tuple):
        return [named(name, one, book) for one in value]
    known = book.platform(str(value))
    return known.name if known else value


def shown_input(value: Any, known: Label) -> str:
    """Return an input as text; one left empty shows what counted instead."""
    if _empty(value) and not _empty(known.used):
        return f"{given(known.used, known.unit)}, not given"
    return given(value, known.unit)


def _empty(value: Any) -> bool:
    return value is None or value == "" or value == [] or value == ()


def given(value: Any, unit: str) -> str:
    """Return an input as text: ratios in percent, lists joined, and every digit that was typed."""
    if _empty(value):
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if unit.startswith("%"):
            return f"{_plain(100 * value)} %"
        return f"${_plain(value)}" if unit.startswith("USD") else _plain(value)
    if isinstance(value, list | tuple):
        return ", ".join(given(one, unit) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {given(one, '')}" for key, one in value.items())
    return str(value)


def _plain(value: float) -> str:
    """A typed number as it was typed: nothing is rounded away that could be the difference."""
    text = f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.6g}"
    return text if math.isfinite(value) else str(value)


def shown_figure(figure: Figure, first: Figure) -> str:
    """Return a figure with its range, and its change against that of the first scenario."""
    if figure.value is None:
        return f"not known: {figure.missing or 'the data on hand does not say'}"
    told = bound(figure.name, figure.value, figure.n)
    text = f"{told[0]} {percent(told[1])}" if told else _amount(figure.value, figure.unit)
    if figure.low is not None and figure.high is not None and figure.low < figure.high:
        text += f" ({_amount(figure.low, figure.unit)} – {_amount(figure.high, figure.unit)})"
    if figure is first or not first.value or figure.value == first.value:
        return text
    return f"{text}, {_change(figure, first.value)}"


def _change(figure: Figure, base: float) -> str:
    """Shares change by points, the rest by percent of the first."""
    value = figure.value or 0.0
    if figure.unit in ("frac", "fraction", "ratio"):
        points = 100 * (value - base)
        return f"{'+' if points > 0 else '-'}{digits3(abs(points))} points"
    change = value / base - 1
    return f"{'+' if change > 0 else '-'}{percent(abs(change))}"


def _amount(value: float, unit: str) -> str:
    low = unit.lower()
    if low in ("frac", "fraction", "ratio"):
        return percent(value)
    if low.startswith(("usd", "$")):
        return money(value)
    number = count(value) if value == int(value) or abs(value) >= 1e4 else digits3(value)
    return f"{number} {'' if low == 'count' else unit.replace('_', ' ')}".strip()


def summary(cases: Sequence[tuple[str, Result | None]], inputs: pd.DataFrame, mark: str) -> str:
    """Return the answer line: what leads in each scenario, and the inputs in which they differ."""
    told = [_leading(name, found) for name, found in cases]
    differing = [str(row["input"]) for row in records(inputs) if row[mark] == DIFFERS]
    names = dict.fromkeys(name for name, _ in cases)
    if len(names) < 2:
        tail = "Pick another scenario to hold it against."
    elif not differing:
        tail = "All inputs are alike."
    else:
        number = len(differing)
        tail = f"They differ in {number} {plural('input', number)}: {listing(differing, MOST_NAMED)}."
    return f"{'; '.join(told)}. {tail}"


def _leading(name: str, found: Result | None) -> str:
    if found is None:
        return f"{name}: cannot be answered"
    known = [figure for figure in found.headline if figure.value is not None]
    if not known:
        return f"{name}: no figure is known yet"
    dollars = [figure for figure in known if figure.unit.lower().startswith("usd")]
    chosen = [known[0]] if not dollars or known[0] is dollars[0] else [known[0], dollars[0]]
    said = [_told(figure) for figure in chosen]
    return f"{name}: {listing(said)}"


def _told(figure: Figure) -> str:
    """The figure with its name, which need not say the unit again."""
    label = f"{figure.label[:1].lower()}{figure.label[1:]}"
    amount = shown_figure(figure, figure)
    tail = f" {figure.unit}"
    return f"{label} {amount.removesuffix(tail) if label.endswith(tail) else amount}"
