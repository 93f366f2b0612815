"""Claims as scenarios: what one statement about one phase leaves of a projected step. Never a measurement."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis import claimwords as words
from analysis.claimparts import About, Aimed, Asked, Baseline, Effect, Setting
from analysis.claimspeed import projected_speed
from analysis.result import Notice
from analysis.words import digits3, listing
from data.catalogue import Catalogue
from data.catalogue_types import STATUS_WORDS, Claim
from data.claim_scopes import ClaimScope, claim_scopes
from data.errors import UserError
from models.claims import (
    LIMITS,
    at_speed,
    check_value,
    implied_speed,
    needed_elsewhere,
    outcome,
    scaled_seconds,
)
from models.shapes import BYTES_PER_WEIGHT

NAN = float("nan")
COLUMNS = (
    "claim_id", "target", "statement", "phase", "badge", "value", "unit", "step_s_without", "step_s_with",
    "step_s_low", "step_s_high", "phase_frac", "left_after", "needed", "applies", "why_not", "baseline",
    "claimed_speed", "model_speed", "model_speed_low", "model_speed_high", "contradicts", "measured",
    "ceiling_s", "reads_as", "conditions", "source", "date", "low_limit", "high_limit",
)  # fmt: skip
MENU = (
    "claim_id", "statement", "phase", "acts_on", "badge", "value", "low", "high", "unit", "low_limit",
    "high_limit", "baseline", "target", "reads_as", "conditions", "source", "date", "note",
)  # fmt: skip


def check_claims(catalogue: Catalogue, asked: Sequence[str]) -> tuple[Asked, ...]:
    """Claims by `claim_id` or `claim_id=value`. Raises UserError for an unknown one or a wild value."""
    known = {c.claim_id: c for c in catalogue.claims()}
    scopes = claim_scopes(catalogue)
    return tuple(_parsed(text, known, scopes) for text in dict.fromkeys(asked))


def _parsed(text: str, known: Mapping[str, Claim], scopes: Mapping[str, ClaimScope]) -> Asked:
    name, _, given = text.partition("=")
    claim = known.get(name)
    if claim is None:
        raise UserError(
            f"The claim {name!r} is not in the catalogue", "claims", f"Use one of {listing(list(known), 40)}."
        )
    scope = scopes[name]
    if not scope.acts_on or claim.value is None:
        raise UserError(f"The claim {name!r} cannot be tried: {scope.why_not}", "claims", "Leave it out.")
    try:
        value = float(given) if given else claim.value
        check_value(claim.quantity, value)
    except ValueError as error:
        low, high = LIMITS[claim.quantity]
        raise UserError(
            f"The claim {name!r} cannot take the value {given!r}",
            "claims",
            f"Write {name}=NUMBER with a number from {low:g} to {high:g} ({claim.unit}).",
        ) from error
    return Asked(claim, scope, value)


def claim_menu(catalogue: Catalogue) -> pd.DataFrame:
    """Every claim that can be tried, a row each: value as published, range, limits, what it acts on."""
    scopes = claim_scopes(catalogue)
    rows = []
    for claim in catalogue.claims():
        scope = scopes[claim.claim_id]
        if scope.acts_on and claim.value is not None:
            low, high = LIMITS[claim.quantity]
            rows.append(
                (claim.claim_id, claim.statement, claim.applies_to_phase, ";".join(scope.acts_on),
                 STATUS_WORDS[claim.status], claim.value, claim.low, claim.high, claim.unit, low, high,
                 claim.baseline_platform_id, claim.target_platform_id, scope.reads_as, claim.conditions,
                 claim.source, claim.source_date, claim.note)
            )  # fmt: skip
    return pd.DataFrame(rows, columns=list(MENU))


def claim_rows(
    catalogue: Catalogue,
    asked: Sequence[str],
    aimed: Sequence[Aimed],
    baseline: Baseline,
    about: About,
    prices: Mapping[str, float | None],
) -> tuple[pd.DataFrame, tuple[Notice, ...]]:
    """One row a claim and target: the step in seconds without and with it, each claim on its own.

    A claim puts the seconds of its phase on the baseline, divided by the speed it implies, in the place of
    the projected ones; the rest of the step stays. `prices`: USD per GPU-hour in use by platform, None where
    there is none. Seconds are medians, shares and speed-ups those of the medians, intervals p10..p90 of the
    draws. Of the targets a claim does not speak of none is told where there is another, else one. Raises
    UserError as `check_claims` does.
    """
    setting = Setting(catalogue, about, baseline, prices)
    chosen = check_claims(catalogue, asked)
    rows = [_row(setting, one, target) for one in chosen for target in _spoken_of(setting, one, aimed)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame, _notices(chosen, frame)


def _spoken_of(setting: Setting, one: Asked, aimed: Sequence[Aimed]) -> Sequence[Aimed]:
    """The targets on whose platform the claim speaks; the first target when it speaks of none of them."""
    return [one_aim for one_aim in aimed if not words.elsewhere(setting, one, one_aim)] or aimed[:1]


def _row(setting: Setting, one: Asked, aimed: Aimed) -> dict[str, object]:
    claim, (low, high) = one.claim, LIMITS[one.claim.quantity]
    effect = _effect(setting, one, aimed)
    row: dict[str, object] = dict.fromkeys(COLUMNS, NAN) | {
        "claim_id": claim.claim_id,
        "target": aimed.target,
        "statement": claim.statement,
        "phase": claim.applies_to_phase,
        "badge": STATUS_WORDS[claim.status],
        "value": one.value,
        "unit": claim.unit,
        "step_s_without": float(np.median(aimed.step.step_s)),
        "needed": "",
        "applies": isinstance(effect, Effect),
        "why_not": "" if isinstance(effect, Effect) else effect,
        "baseline": claim.baseline_platform_id,
        "contradicts": False,
        "measured": "",
        "reads_as": one.scope.reads_as,
        "conditions": claim.conditions,
        "source": claim.source,
        "date": claim.source_date,
        "low_limit": low,
        "high_limit": high,
    }
    return row | (_figures(setting, one, aimed, effect) if isinstance(effect, Effect) else {})


def _figures(setting: Setting, one: Asked, aimed: Aimed, effect: Effect) -> dict[str, object]:
    """Seconds with the claim, what is left of it, and what stands against it."""
    found = outcome(aimed.step, effect.claimed, one.phases)
    low, high = _ends(found.with_s)
    seen = projected_speed(setting, one, aimed, effect)
    factor = NAN
    if effect.baseline is not None and math.isfinite(effect.speed) and not one.whole:
        wanted = float(np.median(effect.baseline.step_s)) / effect.speed
        factor = needed_elsewhere(effect.claimed, one.phases, wanted)
    middle = found.middle()
    return {
        "step_s_without": float(middle.without_s),
        "step_s_with": float(middle.with_s),
        "step_s_low": low,
        "step_s_high": high,
        "phase_frac": float(middle.exposed_frac),
        "left_after": float(middle.left),
        "ceiling_s": float(middle.ceiling_s),
        "claimed_speed": effect.speed,
        "model_speed": seen.middle if seen else NAN,
        "model_speed_low": seen.low if seen else NAN,
        "model_speed_high": seen.high if seen else NAN,
        "contradicts": seen is not None and not seen.holds(effect.speed),
        "needed": words.needed(setting, one, aimed, effect, factor),
        "measured": words.measured(setting, one, aimed, seen),
    }


def _ends(draws: object) -> tuple[float, float]:
    low, high = np.quantile(np.asarray(draws, dtype=np.float64), [0.1, 0.9])
    return float(low), float(high)


def _effect(setting: Setting, one: Asked, aimed: Aimed) -> Effect | str:
    """The claim at work on a target, or the sentence that says why it does not act there."""
    why = words.refusal(setting, one, aimed)
    if why:
        return why
    if one.claim.quantity == "seconds":
        return _transfer(setting, one, aimed)
    if "env" in one.phases and not one.whole:
        return Effect(at_speed(aimed.step, aimed.step, one.phases, one.value), one.value, aimed.step)
    ends = (one.claim.target_platform_id, one.claim.baseline_platform_id)
    price_ratio = power_ratio = NAN
    if one.claim.quantity in words.PRICED:
        quotes = [words.price_of(setting, one, name) for name in ends]
        price_ratio = quotes[0].usd / quotes[1].usd
    if one.claim.quantity in words.POWERED:
        power_ratio = words.power_kw(setting, ends[0]) / words.power_kw(setting, ends[1])
    speed = implied_speed(one.claim.quantity, one.value, price_ratio, power_ratio)
    itself = ends[1] in ("", ends[0])
    baseline = aimed.step if itself else setting.baseline(aimed, ends[1])
    if baseline is None:
        name = words.name_of(setting, ends[1])
        return f"The run cannot be projected on {name}, which the claim compares with."
    return Effect(at_speed(aimed.step, baseline, one.phases, speed), speed, baseline)


def _transfer(setting: Setting, one: Asked, aimed: Aimed) -> Effect | str:
    """A weight update at the rate of a claim, unless published links cannot carry one copy in that time."""
    claimed_bytes = (one.scope.params_b or NAN) * 1e9 * BYTES_PER_WEIGHT[one.scope.precision]
    moved = setting.about.llm.params_total * BYTES_PER_WEIGHT[aimed.gen_precision]
    seconds = float(scaled_seconds(one.value, claimed_bytes, moved))
    why = words.too_fast(setting, aimed, moved, seconds)
    if why:
        return why
    return Effect(aimed.step.changed({"weight_sync": seconds}), NAN, None)


def _notices(chosen: Sequence[Asked], frame: pd.DataFrame) -> tuple[Notice, ...]:
    out = []
    acting = frame[frame["applies"].astype(bool)]
    for one in chosen:
        rows = frame[frame["claim_id"] == one.claim.claim_id]
        if len(rows) and not rows["applies"].any():
            text = f"“{one.claim.statement}” changes no target here. {rows['why_not'].iloc[0]}"
            out.append(Notice("claim_without_effect", text, one.claim.claim_id))
    for target, rows in acting.groupby("target", sort=False):
        by_phase: dict[str, list[str]] = {}
        for one in chosen:
            if one.claim.claim_id in set(rows["claim_id"]):
                for phase in one.phases:
                    by_phase.setdefault(phase, []).append(one.claim.claim_id)
        both = sorted({tuple(names) for names in by_phase.values() if len(names) > 1})
        for names in both:
            text = f"{listing(names)} speak of one phase on {target}: each stands alone, none is multiplied."
            out.append(Notice("claims_overlap", text, str(target)))
    for _, row in acting[acting["contradicts"].astype(bool)].iterrows():
        text = (
            f"“{row['statement']}” means {digits3(row['claimed_speed'])} times the speed of the phase; "
            f"{row['measured']}"
        )
        out.append(Notice("claim_contradicted", text, f"{row['claim_id']} on {row['target']}"))
    return tuple(out)
