"""The sentence and the figures of a projection."""

import math
from collections.abc import Sequence
from typing import Any

from analysis.common import figure
from analysis.pairfactors import UNSEEN
from analysis.projection_even import even_draws
from analysis.projection_model import Asked
from analysis.projection_money import Floats
from analysis.projection_params import ProjectionParams
from analysis.projection_seen import Base, Seen, joined, price_times, spread
from analysis.projection_targets import platform_names
from analysis.projection_unknown import no_count_words
from analysis.result import Figure, Notice
from analysis.words import digits3, money, plural
from data.catalogue import Catalogue
from models.breakeven import verdict

MODEL_FACTS = ("hbm_tb_s", "hbm_usable_bytes", "hbm_gb", "scaleup_domain_gpus")
RATE_FACTS = {"bf16": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "fp4": "fp4_dense_tflops"}
NO_STEP = "no target has a step that can be projected: see what is missing beside each"
PER = "a GPU-hour"
SPOKEN_OF = ("gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72")
"""Racks of Blackwell and Rubin, in order of release: an answer is about the first of them that is shown and
can be projected, when nobody says which.
"""
TWO_MODELS = "two_models"
"""Interval of a figure whose band reaches to a second model that disagrees."""


def best_of(base: Base, seen: Sequence[Seen], focus: str = "") -> Seen | None:
    """The target of the sentence: `focus` (None where its step is not known), else the first of `SPOKEN_OF`
    that both pools move to, else `_cheapest`.
    """
    if focus:
        return next((one for one in seen if one.aim.target == focus and not math.isnan(one.middle_s)), None)
    known = {one.aim.target: one for one in _movable(seen)}
    return next((known[target] for target in SPOKEN_OF if target in known), None) or _cheapest(base, seen)


def _cheapest(base: Base, seen: Sequence[Seen]) -> Seen | None:
    """Of the targets that are no slower than the run, of all where none is, the one with the fewest dollars a
    step; without prices the fastest.
    """
    known = _movable(seen)
    faster = [one for one in known if one.middle_s <= 1.001 * base.source.step_s] or known
    priced = [one for one in faster if not math.isnan(one.usd_per_h)]
    if priced:
        return min(priced, key=lambda one: one.usd_per_h * one.middle_s)
    return min(faster, key=lambda one: one.middle_s, default=None)


def _movable(seen: Sequence[Seen]) -> list[Seen]:
    """Targets whose step is known; the run's own pools only where there is nothing else."""
    known = [one for one in seen if not math.isnan(one.middle_s)]
    return [one for one in known if not one.same] or known


def answer(book: Catalogue, base: Base, seen: Sequence[Seen], focus: str = "") -> str:
    """Two sentences: the run beside the target of `best_of`, and the price at which moving there pays."""
    source = base.source
    own = platform_names(book, dict.fromkeys(pool.platform_id for pool in source.pools.each))
    head = f"Run {source.run} takes {digits3(source.step_s)} s a step on {source.gpus} {own}"
    best = best_of(base, seen, focus)
    if best is None:
        return f"{head}; {_no_step(book, seen, focus)}."
    how = "" if best.phases else f" by the rule for whole steps, for {lacking_words(base)}"
    return (
        f"{head}; on {best.count.gpus} {best.aim.name(book)} it would take {_step_words(best)}{how}. There "
        f"{_even_words(base, best)}."
    )


def _no_step(book: Catalogue, seen: Sequence[Seen], focus: str) -> str:
    """That nothing can be projected, or why the target asked for cannot be."""
    for one in seen:
        if one.aim.target == focus:
            return f"{one.aim.name(book)} cannot be projected: {joined(*one.missing).rstrip('.')}"
    return NO_STEP


def _step_words(best: Seen) -> str:
    """Seconds with their band; where the rule for whole steps lies apart, with what it says."""
    low, middle, high = (digits3(value) for value in spread(best.step_s))
    if not best.apart:
        return f"{middle} s (p10–p90 {low} to {high})"
    rule = digits3(spread(best.whole_step_s)[1])
    return (
        f"{middle} s by its phases (uncertain from {low} to {high}: the rule for whole steps says {rule} s)"
    )


def lacking_words(base: Base) -> str:
    """In a clause, what a projection by phases lacks."""
    gaps = base.source.gaps
    if not gaps:
        return "its phases are not logged"
    more = len(gaps) - 1
    tail = f", and {more} more {plural('thing', more)} {'is' if more == 1 else 'are'} missing" if more else ""
    return f"{gaps[0].what}{tail}"


def _even_words(base: Base, best: Seen) -> str:
    draws = even_draws(base, best)
    low, middle, high = spread(draws)
    if math.isnan(middle):
        times = [digits3(value) for value in price_times(base, best)]
        return (
            f"moving pays while {PER} costs less than {times[1]} times one of the run ({times[0]} to "
            f"{times[2]}), which has no price here"
        )
    text = f"moving pays below {money(middle)} {PER} ({money(low)} to {money(high)})"
    if math.isnan(best.rent.usd):
        return f"{text}; there is no quote to hold against it"
    at = f"{money(best.rent.usd)} ({best.rent.label})"
    told = {"pays": f"at {at} it does", "does not pay": f"at {at} it does not"}
    return f"{text}: {told.get(verdict(draws, best.rent.usd).words, f'{at} is too close to tell')}"


def beside_notices(
    book: Catalogue, base: Base, seen: Sequence[Seen], params: ProjectionParams
) -> list[Notice]:
    """Targets with the fewest dollars and the fewest seconds a step where they are not that of the answer,
    and moves that no published pair backs.

    Where the step time is held the fastest says nothing and is left out.
    """
    best = best_of(base, seen, params.focus)
    if best is None:
        return []
    out = []
    cheapest = _cheapest(base, seen)
    if cheapest is not None and cheapest is not best and not math.isnan(cheapest.usd_per_h):
        name = cheapest.aim.name(book)
        words = (
            f"Fewest dollars a step, of those no slower than the run: {cheapest.count.gpus} {name}, "
            f"{_step_words(cheapest)}; {_even_words(base, cheapest)}."
        )
        out.append(Notice("cheapest_target", words, name))
    fastest = min(_movable(seen), key=lambda one: one.middle_s)
    if fastest is not best and params.hold != "step_time":
        name = fastest.aim.name(book)
        words = (
            f"Fastest is {fastest.count.gpus} {name}: {_step_words(fastest)}; {_even_words(base, fastest)}."
        )
        out.append(Notice("fastest_target", words, name))
    return out + [notice for one in seen if (notice := _unseen(book, one))]


def _unseen(book: Catalogue, one: Seen) -> Notice | None:
    """Say it where a move takes its band from platforms that no pair holds."""
    found = (("decode", one.factors.decode), ("training", one.factors.training))
    phases = " and ".join(name for name, factor in found if factor.basis == UNSEEN)
    if not phases or not one.phases or math.isnan(one.middle_s):
        return None
    name = one.aim.name(book)
    words = (
        f"{name}: nobody has published one run on it and on an older platform ({phases}), so its band is as "
        "wide as this model was wrong on platforms left out of its fit."
    )
    return Notice("no_published_pair", words, name)


def figures(base: Base, seen: Sequence[Seen], asked: Asked, boundary: str) -> list[Figure]:
    """Measured step, step on the best target, break-even price, GPUs for the same step, factors."""
    best, source = best_of(base, seen, asked.params.focus), base.source
    ends = {**_ends(base.step_s), "interval": "p10_p90_mean"}
    out = [figure("measured_step_s", source.step_s, n=source.steps, boundary=boundary, **ends)]
    nothing = _no_step(asked.book, seen, asked.params.focus)
    out += [_step_figure(asked.book, best, boundary, nothing), _even_figure(base, best, boundary, nothing)]
    out.append(_cycle_figure(asked.book, base, best, boundary, nothing))
    known = () if asked.model is None else asked.model.calibration.factors
    label = "Model factors that the run fixes"
    out.append(
        figure(
            "factors_identified",
            float(sum(f.identified for f in known)) if known else None,
            n=len(known) or None,
            label=f"{label}, of {len(known)}" if known else label,
            missing=f"no factor is calibrated, for {lacking_words(base)}",
        )
    )
    return out


def _ends(draws: Floats) -> dict[str, Any]:
    low, _, high = spread(draws)
    return {"low": low, "high": high, "interval": "p10_p90"}


def _step_figure(book: Catalogue, best: Seen | None, boundary: str, nothing: str) -> Figure:
    if best is None:
        return figure("projected_step_s", None, missing=nothing)
    label = f"Step on {best.count.gpus} {best.aim.name(book)}"
    ends = _ends(best.step_s) | ({"interval": TWO_MODELS} if best.apart else {})
    return figure("projected_step_s", best.middle_s, label=label, boundary=boundary, **ends)


def _even_figure(base: Base, best: Seen | None, boundary: str, nothing: str) -> Figure:
    if best is None:
        return figure("break_even_usd_per_gpu_h", None, missing=nothing)
    draws = even_draws(base, best)
    missing = base.rent.missing or "the run's own GPUs have no price"
    middle = spread(draws)[1]
    ends = _ends(draws) | ({"interval": TWO_MODELS} if best.apart else {})
    return figure("break_even_usd_per_gpu_h", middle, boundary=boundary, missing=missing, **ends)


def _cycle_figure(book: Catalogue, base: Base, best: Seen | None, boundary: str, nothing: str) -> Figure:
    name, label = "gpus_same_cycle", "GPUs for the same step time"
    if best is None or best.cycle is None:
        missing = nothing if best is None else f"it needs the phases, but {lacking_words(base)}"
        return figure(name, None, label=label, missing=missing)
    found, label = best.cycle, f"{best.aim.name(book)} for the same step time"
    if found.gpus is None:
        return figure(name, None, label=label, missing=no_count_words(found), boundary=boundary)
    ends = {"low": found.gpus_low, "high": found.gpus_high, "interval": "p10_p90"}
    return figure(name, float(found.gpus), label=label, boundary=boundary, **ends)
