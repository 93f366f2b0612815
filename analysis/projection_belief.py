"""Two models of one step, its phases and the rule for whole steps: which one is believed, and why.

The phases are believed: they hold the seconds of the run itself, and each of them was back-tested. Their sum
was not, for no published pair of whole steps tells its phases; so where the other rule lies outside, the band
is stretched to the far end of that rule.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from analysis.backtest import reports_of
from analysis.backtest_cases import Case
from analysis.backtest_run import Pairs
from analysis.projection_money import Floats
from analysis.projection_seen import Cause, Seen, spread
from analysis.result import Notice
from analysis.words import digits3, listing, percent
from data.catalogue import Catalogue
from models.transfer import StepCase

GROUPS = {
    "rollout": ("rollout_work", "rollout_tail", "prefill"),
    "compute": ("logprob", "train"),
    "rest": ("weight_sync", "env", "other", "unattributed"),
}
"""Phases of a projected step that the rule for whole steps holds as one share each."""
STEP = "rl_step"
HALF_GPUS = 0.5


def apart(phases_s: Floats, whole_s: Floats) -> bool:
    """True when the median of the rule for whole steps lies outside p10..p90 of the phases."""
    low, _, high = spread(phases_s)
    middle = spread(whole_s)[1]
    return not math.isnan(middle) and not math.isnan(low) and not low <= middle <= high


def stretched(phases_s: Floats, whole_s: Floats) -> Floats:
    """Draws of the phases whose band reaches to the far end of the rule for whole steps; median kept.

    On the side of the rule, log(draw / median) grows in one proportion so that p90 (p10) becomes the rule's.
    The same draws where the two do not lie apart, or where the band reaches as far already.
    """
    if not apart(phases_s, whole_s):
        return phases_s
    own, other = spread(phases_s), spread(whole_s)
    side = 2 if other[1] > own[1] else 0
    reach = math.log(other[side] / own[1]) / math.log(own[side] / own[1])
    if reach <= 1:
        return phases_s
    away = np.log(phases_s / own[1])
    beyond = away > 0 if side == 2 else away < 0
    out: Floats = own[1] * np.exp(np.where(beyond, reach * away, away))
    return out


def cause_of(step_s: float, parts: Mapping[str, float], exposed: Mapping[str, Floats]) -> Cause | None:
    """The part with the largest gap in the direction of the whole difference; None for no `parts`.

    `parts`: share of the measured step by the rule on the target; `exposed`: draws of seconds by phase.
    """
    if not parts or not exposed:
        return None
    told = {
        name: math.fsum(float(np.median(exposed[p])) for p in members if p in exposed)
        for name, members in GROUPS.items()
    }
    found = [Cause(name, step_s * share, told.get(name, 0.0)) for name, share in parts.items()]
    sign = math.copysign(1.0, math.fsum(c.whole_s - c.phases_s for c in found))
    return max(found, key=lambda c: sign * (c.whole_s - c.phases_s))


def belief_notices(book: Catalogue, source: str, best: Seen | None, seen: Sequence[Seen]) -> list[Notice]:
    """Which model the numbers follow and why (`believed`), where the other one disagrees (`rules_differ`),
    and how published pairs on fewer GPUs fit in (`published_pairs`). None without phases.

    `source`: platform of the run.
    """
    known = [one for one in seen if one.phases and not one.same and not math.isnan(one.middle_s)]
    if best is None or best not in known:
        return []
    out = [Notice("believed", _why(book), "")]
    found = [one for one in (best, *(one for one in known if one is not best)) if one.apart]
    if found:
        out.append(Notice("rules_differ", _differ(book, found), ""))
    return [*out, *(told for one in known if (told := _published(book, source, one)) is not None)]


def _why(book: Catalogue) -> str:
    """Errors of both models as the back-test has them, and what neither was tested on."""
    pairs, reports = reports_of(book)
    found = {r.wanted.name: r for r in reports}
    tested = [
        f"{name} {percent(r.error.median_abs_error)} on {r.error.n} pairs"
        for name in ("decode", "training")
        if (r := found.get(name)) is not None and r.error.median_abs_error is not None
    ]
    text = (
        "Two models of a step are at hand. Believed is the sum of the phases that this run measured, one "
        f"model for every platform so that they compare; each was tested on published pairs (median error: "
        f"{', '.join(tested)}), their sum never, for no published pair tells its phases."
    )
    whole = found.get(STEP)
    if whole is None or whole.error.median_abs_error is None:
        return text
    ends = Counter((c.pair.platform_a, c.pair.platform_b) for c in _step_cases(pairs))
    between = listing([f"{n} from {_name(book, a)} to {_name(book, b)}" for (a, b), n in ends.most_common()])
    return (
        f"{text} The check beside it, a rule for whole steps, was: off by "
        f"{percent(whole.error.median_abs_error)} on {whole.error.n} pairs ({between}), but it assumes a mix "
        "of phases, and the share of a step that nothing shortens, in place of what this run measured."
    )


def _differ(book: Catalogue, found: Sequence[Seen]) -> str:
    """The targets where the two models disagree, by how much, and what makes the difference."""
    first, *others = found
    phases, whole = spread(first.phases_step_s), spread(first.whole_step_s)
    none = phases[2] < whole[0] or whole[2] < phases[0]
    bands = "their bands share nothing" if none else "outside the band by phases"
    text = (
        f"The two models disagree on {first.aim.name(book)}: {_band(phases)} by phases, {_band(whole)} by "
        f"the rule for whole steps, {digits3(whole[1] / phases[1])} times as long; {bands}."
    )
    if first.cause is not None:
        text += f" Most of the difference: {first.cause.words}."
    if others:
        more = [f"{one.aim.name(book)} x {digits3(_times(one))}" for one in others]
        text += f" Also on {listing(more, 8)}."
    return (
        f"{text} So a step is less certain than p10 to p90 of its phases: the bands shown reach to the far "
        "end of the rule."
    )


def _band(found: tuple[float, float, float]) -> str:
    low, middle, high = (digits3(value) for value in found)
    return f"{middle} s ({low} to {high})"


def _times(one: Seen) -> float:
    return spread(one.whole_step_s)[1] / spread(one.phases_step_s)[1]


def _published(book: Catalogue, source: str, one: Seen) -> Notice | None:
    """Published steps on half the GPUs beside the rule on as many as asked; None without such pairs."""
    if one.aim.engines != one.aim.trainer or math.isnan(one.half_ratio):
        return None
    pairs, _ = reports_of(book)
    ends = (source, one.aim.engines)
    half: dict[str, list[float]] = {}
    for c in _step_cases(pairs):
        at_half = isinstance(c.body, StepCase) and c.body.gpus == HALF_GPUS
        if at_half and (c.pair.platform_a, c.pair.platform_b) == ends:
            half.setdefault(c.group, []).append(-c.measured * c.sign)
    if not half:
        return None
    mean = math.exp(math.fsum(math.fsum(logs) / len(logs) for logs in half.values()) / len(half))
    count = sum(len(logs) for logs in half.values())
    name = one.aim.name(book)
    words = (
        f"{name}: published steps took x {mean:.2f} on half as many GPUs ({count} pairs of {len(half)} "
        f"models), where the rule for whole steps gives x {one.half_ratio:.2f}; on the {one.count.gpus} GPUs "
        f"here it gives x {one.whole_ratio:.2f}, {1 / one.whole_ratio:.2f} times as fast: one rule at two "
        "counts of GPUs. Between these two it is the only model that was tested on whole "
        "steps: its figure is the cautious one."
    )
    return Notice("published_pairs", words, name)


def _name(book: Catalogue, platform_id: str) -> str:
    found = book.platform(platform_id)
    return platform_id if found is None else found.name


def _step_cases(pairs: Pairs) -> list[Case]:
    """Published pairs of whole steps that the back-test predicted, each once."""
    return [
        c
        for c, here in zip(pairs.cases, pairs.test, strict=True)
        if here and c.body is not None and c.pair.set == STEP
    ]
