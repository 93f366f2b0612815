"""The sentence and the figures of a projection."""

import math
from collections.abc import Sequence
from typing import Any

from analysis.common import figure
from analysis.pairfactors import UNSEEN
from analysis.projection_even import even_draws
from analysis.projection_model import Asked
from analysis.projection_money import Floats
from analysis.projection_seen import Base, Seen, price_times, spread
from analysis.projection_targets import platform_names
from analysis.projection_unknown import no_count_words
from analysis.result import Figure, Notice
from analysis.words import digits3, money
from data.catalogue import Catalogue
from models.breakeven import verdict

MODEL_FACTS = ("hbm_tb_s", "hbm_usable_bytes", "hbm_gb", "scaleup_domain_gpus")
RATE_FACTS = {"bf16": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "fp4": "fp4_dense_tflops"}
NO_STEP = "no target has a step that can be projected: see what is missing beside each"
PER = "a GPU-hour"


def best_of(base: Base, seen: Sequence[Seen]) -> Seen | None:
    """The target of the sentence: of those that are no slower the one with the fewest dollars a step, of all
    where none is; without prices the fastest.
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


def answer(book: Catalogue, base: Base, seen: Sequence[Seen]) -> str:
    """Two sentences: the run beside the target that moves best, and the price at which moving there pays."""
    source = base.source
    own = platform_names(book, dict.fromkeys(pool.platform_id for pool in source.pools.each))
    head = f"Run {source.run} takes {digits3(source.step_s)} s a step on {source.gpus} {own}"
    best = best_of(base, seen)
    if best is None:
        return f"{head}; {NO_STEP}."
    how = "" if best.phases else ", by the rule for whole steps, for its phases are not known"
    low, middle, high = (digits3(value) for value in spread(best.step_s))
    return (
        f"{head}; on {best.count.gpus} {best.aim.name(book)} it would take {middle} s (p10–p90 {low} to "
        f"{high}){how}. There {_even_words(base, best)}."
    )


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


def beside_notices(book: Catalogue, base: Base, seen: Sequence[Seen], hold: str) -> list[Notice]:
    """The fastest target where it is not that of the answer, and moves that no published pair backs.

    Where the step time is held (`hold`) the fastest says nothing and is left out.
    """
    best = best_of(base, seen)
    if best is None:
        return []
    out = []
    fastest = min(_movable(seen), key=lambda one: one.middle_s)
    if fastest is not best and hold != "step_time":
        low, middle, high = (digits3(value) for value in spread(fastest.step_s))
        name = fastest.aim.name(book)
        words = (
            f"Fastest is {fastest.count.gpus} {name}: {middle} s a step (p10–p90 {low} to {high}); "
            f"{_even_words(base, fastest)}."
        )
        out.append(Notice("fastest_target", words, name))
    return out + [notice for one in seen if (notice := _unseen(book, one))]


def _unseen(book: Catalogue, one: Seen) -> Notice | None:
    """Say it where a move takes its band from platforms that no pair holds."""
    found = (("decode", one.factors.decode), ("training", one.factors.training))
    phases = " and ".join(name for name, factor in found if factor.basis == UNSEEN)
    if not phases or not one.phases:
        return None
    name = one.aim.name(book)
    words = (
        f"{name}: nobody has published one run on it and on an older platform ({phases}), so its band is as "
        "wide as this model was wrong on platforms left out of its fit."
    )
    return Notice("no_published_pair", words, name)


def figures(base: Base, seen: Sequence[Seen], asked: Asked, boundary: str) -> list[Figure]:
    """Measured step, step on the best target, break-even price, GPUs for the same step, factors."""
    best, source = best_of(base, seen), base.source
    ends = {**_ends(base.step_s), "interval": "p10_p90_mean"}
    out = [figure("measured_step_s", source.step_s, n=source.steps, boundary=boundary, **ends)]
    out += [_step_figure(asked.book, best, boundary), _even_figure(base, best, boundary)]
    out.append(_cycle_figure(asked.book, best, boundary))
    known = () if asked.model is None else asked.model.calibration.factors
    label = "Model factors that the run fixes"
    out.append(
        figure(
            "factors_identified",
            float(sum(f.identified for f in known)) if known else None,
            n=len(known) or None,
            label=f"{label}, of {len(known)}" if known else label,
            missing="its phases are not known, so no factor is calibrated",
        )
    )
    return out


def _ends(draws: Floats) -> dict[str, Any]:
    low, _, high = spread(draws)
    return {"low": low, "high": high, "interval": "p10_p90"}


def _step_figure(book: Catalogue, best: Seen | None, boundary: str) -> Figure:
    if best is None:
        return figure("projected_step_s", None, missing=NO_STEP)
    label = f"Step on {best.count.gpus} {best.aim.name(book)}"
    return figure("projected_step_s", best.middle_s, label=label, boundary=boundary, **_ends(best.step_s))


def _even_figure(base: Base, best: Seen | None, boundary: str) -> Figure:
    if best is None:
        return figure("break_even_usd_per_gpu_h", None, missing=NO_STEP)
    draws = even_draws(base, best)
    missing = base.rent.missing or "the run's own GPUs have no price"
    middle = spread(draws)[1]
    return figure("break_even_usd_per_gpu_h", middle, boundary=boundary, missing=missing, **_ends(draws))


def _cycle_figure(book: Catalogue, best: Seen | None, boundary: str) -> Figure:
    name, label = "gpus_same_cycle", "GPUs for the same step time"
    if best is None or best.cycle is None:
        missing = NO_STEP if best is None else "the phases of the run are not known"
        return figure(name, None, label=label, missing=missing)
    found, label = best.cycle, f"{best.aim.name(book)} for the same step time"
    if found.gpus is None:
        return figure(name, None, label=label, missing=no_count_words(found), boundary=boundary)
    ends = {"low": found.gpus_low, "high": found.gpus_high, "interval": "p10_p90"}
    return figure(name, float(found.gpus), label=label, boundary=boundary, **ends)
