"""What a projection assumes, and what a reader must know beside its numbers."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from analysis.projection_model import Asked
from analysis.projection_money import rent_assumption
from analysis.projection_seen import Seen, joined
from analysis.projection_targets import platform_names, unit_of
from analysis.result import Assumption, Notice
from analysis.words import digits3, listing, percent
from data.catalogue import Catalogue
from data.shapes import machine_of
from models.factors import Refusal

MODEL_FACTS = ("hbm_tb_s", "hbm_usable_bytes", "hbm_gb", "scaleup_domain_gpus")
RATE_FACTS = {"bf16": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "fp4": "fp4_dense_tflops"}
NO_LOG = "no log says it"
MOST_CAUSES = 4
LEAST_TRAINING = 0.05
"""Share of a step below which a projection of training rests on little."""
IMPOSSIBLE = {
    "rollout": "its rollouts would run at {} times the peaks of its GPUs",
    "train": "its training would run at {} times the peak of its GPUs",
    "logprob": "its log-probs would run at {} times the peak of its GPUs",
    "weight_sync": "its weight sync would run at {} times the rate of its links",
    "step": "its phases add up to {} times its step",
}


def assumptions(asked: Asked, seen: Sequence[Seen]) -> list[Assumption]:
    """What was not measured in this run: precision, defaults of the workload, facts of chips, prices."""
    source, params, book = asked.source, asked.params, asked.book
    own_precision = (params.source_gen_precision, params.source_train_precision)
    out = [
        Assumption(f"precision of the run's {what}", value, "", "assumed", f"{NO_LOG}; a parameter", "")
        for what, value in zip(("generation", "training"), own_precision, strict=True)
    ]
    out += _workload(asked)
    own = [pool.platform_id for pool in source.pools.each]
    used = dict.fromkeys([*own, *(p for one in seen for p in one.aim.platforms)])
    out += _facts(book, used, dict.fromkeys((*own_precision, *params.on_target)))
    out += source.pools.assumptions
    rents = [asked.rents.of(platform_id) for one in seen for platform_id in one.aim.platforms]
    out += [rent_assumption(book, rent) for rent in dict.fromkeys(rents) if not math.isnan(rent.usd)]
    return out


def _workload(asked: Asked) -> list[Assumption]:
    if asked.model is None or asked.source.tokens is None or asked.source.lengths is None:
        return []
    told, work, found = asked.source.tokens, asked.model.workload, asked.source.lengths
    out = [Assumption("optimiser updates a step", work.updates, "updates", "assumed", NO_LOG, "")]
    if not told.trained > 0:
        source = "prompt and generated tokens: trained tokens are not logged"
        out.append(Assumption("tokens trained a step", work.trained_tokens, "tokens", "derived", source, ""))
    if not told.groups > 0:
        out.append(Assumption("responses to a prompt", 1.0, "responses", "assumed", NO_LOG, ""))
    if work.mode in ("one_step_off", "async") and not told.staleness > 0:
        out.append(Assumption("age of rollouts at most", work.lag, "updates", "assumed", NO_LOG, ""))
    status = "derived" if found.known else "assumed"
    out.append(Assumption("mean response", work.lengths.mean, "tokens", status, found.words, ""))
    row = asked.book.llm(asked.source.llm)
    if row is not None:
        size = f"{row.params_total_b:g} B, {row.params_active_b:g} B active"
        out.append(Assumption(f"parameters of {row.name}", size, "", row.status, row.source, ""))
    at = asked.model.calibration.operating
    if at is not None:
        words = f"{at.replicas} replicas of {at.replica_gpus} GPUs, batch {digits3(at.batch)}"
        status, source = "derived", "what usual engines need for the measured seconds: no log says the layout"
        if work.replica_gpus is not None:
            status, source = "user", "parameter replica_gpus"
        out.append(Assumption("layout of the engines", words, "", status, source, ""))
    return out


def _facts(book: Catalogue, platforms: Iterable[str], precisions: Iterable[str]) -> list[Assumption]:
    fields = [RATE_FACTS[p] for p in precisions]
    out = []
    for platform_id in platforms:
        platform = book.platform(platform_id)
        for name in (*fields, *MODEL_FACTS):
            row = book.fact(platform_id, name)
            if row is not None and not (name == "hbm_gb" and book.fact(platform_id, "hbm_usable_bytes")):
                label = f"{platform.name if platform else platform_id}: {name}"
                out.append(Assumption(label, row.value, row.unit, row.status, row.source, row.date))
    return out


def notices(asked: Asked, seen: Sequence[Seen]) -> list[Notice]:
    """What a reader must know beside the numbers."""
    source = asked.source
    out = [*source.notices]
    if source.gaps:
        parts = " ".join(f"{gap.words[:1].upper()}{gap.words[1:]}" for gap in source.gaps)
        words = f"{source.run} is projected as a whole step, not by phase. {parts}"
        out.append(Notice("phases_not_measured", words, source.run))
    if source.timed is not None and source.timed.engines_from.startswith("what the trainer"):
        words = (
            f"{source.run}: no clock of the engines is logged; they take what the trainer worked and waited."
        )
        out.append(Notice("engines_inferred", words, source.run))
    if source.lengths is not None and not source.lengths.known and source.lengths.lengths is not None:
        told = source.lengths
        words = f"{source.run}: {told.words}, so the tail of a rollout is assumed. {told.remedy}"
        out.append(Notice("tail_assumed", words, source.run))
    out += _prior_notice(asked)
    out += _share_notices(asked) + _node_notices(asked, seen)
    if asked.params.changes_precision:
        gen, train = asked.params.on_target
        words = f"Targets compute at another precision, as asked: rollouts {gen}, training {train}."
        out.append(Notice("precision_changed", words, "precision"))
    for one in seen:
        out += _target_notices(asked.book, one)
    return out


def _share_notices(asked: Asked) -> list[Notice]:
    """Say it where training is so small a part of the step that its projection rests on little."""
    told = asked.source.timed
    if asked.model is None or told is None or "train" not in told.phases:
        return []
    seconds = float(told.phases["train"].mean())
    share = seconds / asked.source.step_s
    if share >= LEAST_TRAINING:
        return []
    words = (
        f"Training takes {digits3(seconds)} s of a step of {asked.source.run}, {percent(share)}: what is "
        "said of training on other platforms rests on these few seconds."
    )
    return [Notice("training_small", words, asked.source.run)]


def _node_notices(asked: Asked, seen: Sequence[Seen]) -> list[Notice]:
    """Say it where the GPUs of a pool do not fill whole nodes, trays or, without them, racks."""
    book = asked.book
    parts: dict[tuple[int, int], list[str]] = {}
    pools = [(p.platform_id, p.gpus) for p in asked.source.pools.each]
    for one in (target for target in seen if not target.missing):
        pools += [(one.aim.engines, one.count.engines), (one.aim.trainer, one.count.trainer)]
    for platform_id, gpus in pools:
        unit = unit_of(machine_of(book, platform_id))
        if gpus and gpus % unit:
            parts.setdefault((gpus, unit), []).append(platform_names(book, [platform_id]))
    if not parts:
        return []
    told = [f"{g} GPUs on nodes of {u} ({listing(list(dict.fromkeys(n)), 8)})" for (g, u), n in parts.items()]
    words = (
        f"GPUs do not fill whole nodes: {listing(told)}. Seconds assume links as fast as inside a full "
        "node, and dollars count these GPUs alone, where a landlord may bill the whole node."
    )
    return [Notice("partial_nodes", words, "")]


def _prior_notice(asked: Asked) -> list[Notice]:
    if asked.model is None:
        return []
    kept = asked.model.calibration.refusals
    out = (
        [Notice("refused", refusal_words(asked.source.run, kept, "doubtful"), asked.source.run)]
        if kept
        else []
    )
    names = [
        f"{f.phase} ({f.name.replace('_', ' ')})" for f in asked.model.calibration.factors if not f.identified
    ]
    if not names:
        return out
    words = f"{asked.source.run} does not fix these factors, which rest on a prior: {listing(names, 6)}."
    return [*out, Notice("prior_factors", words, asked.source.run)]


def _target_notices(book: Catalogue, one: Seen) -> list[Notice]:
    name, out = one.aim.name(book), []
    if one.missing:
        out.append(Notice("target_unknown", f"{name} cannot be projected. {joined(*one.missing)}", name))
        return out
    if one.rent.missing and not np.isnan(one.step_s).any():
        out.append(Notice("price_missing", one.rent.missing, name))
    out += [Notice("move_assumption", f"{name}: {words}.", name) for words in one.cautions]
    return out


def refusal_words(run: str, refusals: Sequence[Refusal], verdict: str = "not projected") -> str:
    """Why a run is refused: the factor that is impossible, and its likely causes."""
    parts = [f"{IMPOSSIBLE.get(r.phase, r.phase).format(digits3(r.value))}" for r in refusals]
    named = [cause for refusal in refusals for cause in refusal.causes]
    causes = sorted(dict.fromkeys(named), key=lambda cause: -named.count(cause))[:MOST_CAUSES]
    return f"{run} is {verdict}: {'; '.join(parts)}. Likely cause: {'; or '.join(causes)}."
