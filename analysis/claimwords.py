"""Sentences beside a claim: why it does not act, what else would have to be true, what was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.claimparts import REWARD, Aimed, Asked, Effect, Setting
from analysis.claimspeed import Speed, precision_of
from analysis.words import digits3, listing, plural
from data.shapes import GIGA, machine_of
from models.shapes import BYTES_PER_WEIGHT

NAN = float("nan")
PRICED = ("cost_per_token_ratio", "tokens_per_dollar_ratio")
POWERED = ("tokens_per_mw_ratio",)
HOST, POWER = "host_cpu", "all_in_kw_per_gpu"
FORMATS = {"bf16": "BF16", "fp8": "FP8", "fp4": "FP4"}
CLASSES = {"dense": "dense models", "moe": "mixtures of experts", "hybrid_moe": "hybrid mixtures of experts"}
NAMES = {
    "rollout_work": "rollout work",
    "rollout_tail": "rollout tail",
    "prefill": "prefill",
    "logprob": "log-probs",
    "train": "training",
    "weight_sync": "weight sync",
    "env": "sandboxes",
    REWARD: "rewards",
    "other": "other",
    "unattributed": "unattributed",
}


@dataclass(frozen=True)
class Quote:
    """USD per GPU-hour and where it is from; NaN: none."""

    usd: float
    words: str


def name_of(setting: Setting, platform_id: str) -> str:
    """Name of a platform as people say it."""
    known = setting.catalogue.platform(platform_id)
    return platform_id if known is None else known.name


def price_of(setting: Setting, one: Asked, platform_id: str) -> Quote:
    """The price a claim about money needs: of the kind it was made at, else the one in use."""
    if not one.scope.price_basis:
        usd = setting.prices.get(platform_id)
        return Quote(NAN if usd is None else usd, "the price in use")
    kind, _, tier = one.scope.price_basis.partition(".")
    found = setting.catalogue.price(platform_id, kind, tier)
    basis = "cost of owning" if kind == "own_tco" else "3-year rent"
    return Quote(NAN, basis) if found is None else Quote(found.usd_per_gpu_h, f"{basis}, {found.price_id}")


def power_kw(setting: Setting, platform_id: str) -> float:
    """Published IT power of a GPU with its share of the host, in kW; NaN when there is none."""
    fact = setting.catalogue.fact(platform_id, POWER)
    return NAN if fact is None or fact.number is None else fact.number


def refusal(setting: Setting, one: Asked, aimed: Aimed) -> str:
    """Why the claim does not act on this target, in one sentence; empty when it does."""
    return (
        elsewhere(setting, one, aimed)
        or _wrong_cpu(setting, one)
        or _wrong_phase(setting, one, aimed)
        or _wrong_model(setting, one)
        or _wrong_precision(one, aimed)
        or _no_money(setting, one)
    )


def _wrong_phase(setting: Setting, one: Asked, aimed: Aimed) -> str:
    if one.whole:
        return ""
    if "weight_sync" in one.phases and setting.about.mode == "sync_colocated":
        return "Engines and trainer share their GPUs here: no weights travel to other GPUs."
    if all(_none(aimed.step.seconds.get(name)) for name in one.phases):
        phases = listing([NAMES[name] for name in one.phases])
        rewards = aimed.step.seconds.get(REWARD)
        text = f"The run has no seconds of {phases}, so there is nothing to shorten."
        if not _of_sandboxes(one) or _none(rewards):
            return text
        seconds = digits3(float(np.median(np.asarray(rewards, dtype=np.float64))))
        return (
            f"{text} Its {seconds} s of rewards may be judges or code: log sandbox work as environment time."
        )
    return ""


def _none(seconds: object) -> bool:
    return seconds is None or bool(np.all(np.asarray(seconds, dtype=np.float64) == 0))


def elsewhere(setting: Setting, one: Asked, aimed: Aimed) -> str:
    """Sentence for a target that is not on the platform the claim speaks of; empty when it is."""
    wanted = one.claim.target_platform_id
    if _of_sandboxes(one):
        hosts = {_host(setting, name) for name in (aimed.engines, aimed.trainer)}
        told = f"It speaks of the {name_of(setting, wanted)}; no pool of this target has it as its host."
        return "" if wanted in hosts else told
    pools = _pools(one, aimed)
    if not wanted or all(pool == wanted for pool in pools):
        return ""
    here = listing([name_of(setting, pool) for pool in dict.fromkeys(pools)])
    what = "the step runs" if one.whole else f"{NAMES[one.phases[0]]} runs"
    return f"It speaks of {name_of(setting, wanted)}; {what} on {here} here."


def _of_sandboxes(one: Asked) -> bool:
    return "env" in one.phases and not one.whole


def _pools(one: Asked, aimed: Aimed) -> Sequence[str]:
    if one.whole or "weight_sync" in one.phases:
        return (aimed.engines, aimed.trainer)
    return (aimed.trainer,) if set(one.phases) <= {"train", "logprob"} else (aimed.engines,)


def _host(setting: Setting, platform_id: str) -> str:
    fact = setting.catalogue.fact(platform_id, HOST)
    return str(fact.value) if fact is not None else ""


def cpu_today(setting: Setting) -> str:
    """CPU platform of the run's sandboxes: as said, else the hosts of its engines; empty: unknown."""
    return setting.about.sandbox or _host(setting, setting.about.source)


def _wrong_cpu(setting: Setting, one: Asked) -> str:
    if not _of_sandboxes(one):
        return ""
    today, against = cpu_today(setting), one.claim.baseline_platform_id
    if not today:
        return "The CPU of the sandboxes is not known: give the run a sandbox pool with its platform."
    if today == against:
        return ""
    names = name_of(setting, against), name_of(setting, today)
    return f"It compares with {names[0]}; the sandboxes of this run are on {names[1]}."


def _wrong_model(setting: Setting, one: Asked) -> str:
    llm, wanted = setting.about.llm, one.scope.model_class
    found = "dense" if not llm.is_moe else "hybrid_moe" if llm.is_recurrent else "moe"
    if not wanted or wanted == found or (wanted == "moe" and found == "hybrid_moe"):
        return ""
    return f"It speaks of {CLASSES[wanted]}; {llm.model_id} is none of them."


def _wrong_precision(one: Asked, aimed: Aimed) -> str:
    wanted, here = one.scope.baseline_precision, precision_of(one, aimed)
    if not wanted or wanted == here:
        return ""
    if one.scope.precision == here:
        return f"It speaks of the step from {FORMATS[wanted]}; {FORMATS[here]} is in the projection already."
    return f"It compares with {FORMATS[wanted]}; this projection runs in {FORMATS[here]}."


def _no_money(setting: Setting, one: Asked) -> str:
    ends = (one.claim.target_platform_id, one.claim.baseline_platform_id)
    if one.claim.quantity in PRICED:
        for name in ends:
            quote = price_of(setting, one, name)
            if math.isnan(quote.usd):
                return (
                    f"It speaks of money: without a price of {name_of(setting, name)} ({quote.words}) "
                    "no speed follows. Enter a quote."
                )
    if one.claim.quantity in POWERED:
        for name in ends:
            if math.isnan(power_kw(setting, name)):
                return f"It speaks of power, and the power of {name_of(setting, name)} is not published."
    return ""


def link_gb_s(setting: Setting, aimed: Aimed, platform_id: str) -> float:
    """Published rate of a GPU one way in GB/s: of the scale-up domain when both pools fit one, else of the
    network; NaN when there is none.
    """
    machine = machine_of(setting.catalogue, platform_id)
    together = aimed.engines == aimed.trainer and (
        aimed.engine_gpus + aimed.trainer_gpus <= (machine.domain_gpus or 0)
    )
    rate = machine.link_bytes_per_s if together else machine.scaleout_bytes_per_s
    return NAN if rate is None else rate / GIGA


def too_fast(setting: Setting, aimed: Aimed, moved_bytes: float, seconds: float) -> str:
    """Why one copy cannot travel in that time over published links; empty when it can or is unknown."""
    for gpus, pool, verb in (
        (aimed.trainer_gpus, aimed.trainer, "leave"),
        (aimed.engine_gpus, aimed.engines, "reach"),
    ):
        rate, link = moved_bytes / GIGA / seconds / gpus, link_gb_s(setting, aimed, pool)
        if rate > link:
            return (
                f"One copy in {digits3(seconds)} s would have to {verb} each of {gpus} GPUs at "
                f"{digits3(rate)} GB/s; the link of {name_of(setting, pool)} carries {digits3(link)}."
            )
    return ""


def needed(setting: Setting, one: Asked, aimed: Aimed, effect: Effect, factor: float) -> str:
    """What else would have to be true for the claim to hold, and to hold for the whole step."""
    parts = [_whole_step(one, aimed, effect, factor)]
    wanted, here = one.scope.precision, precision_of(one, aimed)
    if "weight_sync" in one.phases and not one.whole:
        return _links(setting, aimed, effect)
    if wanted and wanted != here and not one.scope.baseline_precision:
        parts.append(f"It assumes {FORMATS[wanted]}; this projection runs in {FORMATS[here]}.")
    if not one.claim.baseline_platform_id:
        parts.append("The run must do without it today.")
    if one.claim.quantity == "gpu_count_ratio":
        parts.append("The work must divide over GPUs without loss.")
    if one.claim.quantity in PRICED:
        ends = (one.claim.target_platform_id, one.claim.baseline_platform_id)
        new, old = (price_of(setting, one, name) for name in ends)
        parts.append(
            f"At ${digits3(new.usd)} against ${digits3(old.usd)} a GPU-hour ({new.words}) it means "
            f"{digits3(effect.speed)} times the tokens a GPU and second."
        )
    if _of_sandboxes(one):
        parts.append(
            "All sandbox seconds must be CPU work: waits for the network or a free sandbox do not shrink. "
            "Whether it counts a core, a socket or a dollar is not stated."
        )
    return " ".join(part for part in parts if part)


def _whole_step(one: Asked, aimed: Aimed, effect: Effect, factor: float) -> str:
    if one.whole:
        return "It speaks of the whole step."
    if math.isnan(factor) or effect.speed <= 1:
        return ""
    middle = aimed.step.middle()
    rest = [name for name, value in middle.seconds.items() if name not in one.phases and value > 0]
    shown = listing([f"{NAMES[name]} {digits3(float(middle.seconds[name]))} s" for name in rest], 8)
    head = f"For {digits3(effect.speed)} times over the whole step"
    if factor == 1:
        return f"{head} nothing else has to change."
    if math.isinf(factor):
        return f"{head} no speed of the rest would do."
    return f"{head}, {shown} would have to run {digits3(factor)} times as fast as projected."


def _links(setting: Setting, aimed: Aimed, effect: Effect) -> str:
    size = setting.about.llm.params_total * BYTES_PER_WEIGHT[aimed.gen_precision] / GIGA
    rate = size / float(np.median(effect.claimed.seconds["weight_sync"]))
    link = link_gb_s(setting, aimed, aimed.engines)
    wire = "not published" if math.isnan(link) else f"{digits3(link)} GB/s"
    return (
        f"One copy of {digits3(size)} GB in {FORMATS[aimed.gen_precision]} needs "
        f"{digits3(rate / aimed.trainer_gpus)} GB/s from each of {aimed.trainer_gpus} trainers and "
        f"{digits3(rate / aimed.engine_gpus)} GB/s into each of {aimed.engine_gpus} engine GPUs (link of a "
        f"GPU: {wire}); each further copy as much again. The claim does not state its copies."
    )


def measured(setting: Setting, one: Asked, aimed: Aimed, seen: Speed | None) -> str:
    """What the projection gives for the same phase, and from how many published pairs."""
    if one.claim.quantity == "seconds":
        size = setting.about.llm.params_total * BYTES_PER_WEIGHT[aimed.gen_precision] / GIGA
        own = float(np.median(np.asarray(aimed.step.seconds["weight_sync"])))
        return f"this run's own update takes {digits3(own)} s, {digits3(size / own)} GB/s for one copy."
    if seen is None:
        return ""
    band = f"the projection gives {digits3(seen.middle)} ({digits3(seen.low)} to {digits3(seen.high)})"
    if not seen.pairs:
        return f"{band}; no pair of these platforms is published, the band is that of others."
    pairs = f"{seen.pairs} published {plural('pair', seen.pairs)}"
    return f"{band}, from {pairs} of {seen.models} {plural('model', seen.models)} on these platforms."
