"""Facts, proposals and warnings of logs that went through the flat engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from data.facts_base import gpu_count, source_facts
from data.logs.flat_attempts import FlatAttempt
from data.logs.flat_clock import not_below_steps
from data.logs.llm_guess import guess_llm
from data.logs.verl_facts import eval_facts, infer_gpus, step_facts
from data.readers.base import Batch, Proposal, Source

if TYPE_CHECKING:
    from data.logs.flat import Done, FlatFile

_ONE_RUN = ("reward_last", "gpu_count_inferred", "gpu_hours", "mfu_mean", "throughput_tokens_per_s")
_POOL_WORDS = {"": "all GPUs", "train_gpus_": "trainer GPUs", "rollout_gpus_": "rollout GPUs"}
_WHOLE = 0.01
_FLAT_PHASE_RULE = "unattributed_seconds"


def flat_facts(file: "FlatFile", done: Sequence["Done"], batch: Batch, source: Source) -> dict[str, object]:
    """Canonical facts that the rows fix; null for the others."""
    names = list(dict.fromkeys(one.run.run for one in done))
    numbers = {step for one in done for attempt in one.attempts for step in attempt.by_step}
    facts: dict[str, object] = source_facts(source)
    facts |= {
        "format": file.format,
        "records": batch.records,
        "partial_last_line": file.partial_last_line,
        "missing_cells": sum(v != v for one in done for row in one.run.rows for v in row.values.values()),
        "runs": len(names),
        "run_names": ";".join(names),
        "steps_count": len(numbers),
        "step_first": min(numbers, default=None),
        "step_last": max(numbers, default=None),
        "run_seconds": _run_seconds(done),
    }
    facts |= _stamps(done)
    if "steps" in batch.tables:
        facts |= _step_facts(done, batch)
    return facts | eval_facts(batch.tables.get("evals", pd.DataFrame()), names)


def _run_seconds(done: Sequence["Done"]) -> float | None:
    """The run's own clock at its end; several processes of one run keep the longest."""
    found: dict[str, float] = {}
    for one in done:
        clocks = [a.elapsed_s for a in one.attempts if a.elapsed_s is not None]
        total = one.run.elapsed_s if one.run.elapsed_s is not None else one.mapping.run_seconds
        if total is None and clocks:
            total = sum(clocks)
        if total is not None:
            found[one.run.run] = max(total, found.get(one.run.run, total))
    return sum(found.values()) if found else None


def _stamps(done: Sequence["Done"]) -> dict[str, object]:
    stamps = [row.ts for one in done for row in one.run.rows if row.ts is not None]
    if not stamps:
        return {}
    first = pd.Timestamp(min(stamps))
    return {
        "time_first_epoch_s": (first - pd.Timestamp(0)).total_seconds(),
        "span_s": (max(stamps) - min(stamps)).total_seconds(),
    }


def _step_facts(done: Sequence["Done"], batch: Batch) -> dict[str, object]:
    steps = batch.tables["steps"]
    phases = batch.tables.get("step_phases", pd.DataFrame())
    facts = step_facts(comparable(steps), phases)
    outside = sum(seconds for one in done for seconds in one.mapping.outside_s.values())
    rest = facts.get(_FLAT_PHASE_RULE)
    if outside and isinstance(rest, float) and not _eval_only(done):
        facts[_FLAT_PHASE_RULE] = rest + outside
    for name, column in (("tokens_generated", "tok_gen"), ("tokens_prompt", "tok_prompt")):
        values = steps[column].dropna()
        if len(values):
            facts[name] = float(values.sum())
    rollouts = steps["rollouts"].dropna()
    if len(rollouts):
        facts["rollouts_total"] = float(rollouts.sum())
    facts |= _counted(done)
    if facts.get("gpu_count_inferred") is None and (found := _by_ratio(done)) is not None:
        facts["gpu_count_inferred"] = found[1]
        seconds = facts.get("step_seconds_sum")
        facts["gpu_hours"] = found[1] * seconds / 3600 if isinstance(seconds, float) else None
    several = len({one.run.run for one in done}) > 1
    return {k: v for k, v in facts.items() if not (several and k in _ONE_RUN)}


def comparable(steps: pd.DataFrame) -> pd.DataFrame:
    """Steps with the rates that count all tokens, all seconds and all GPUs; others are left out."""
    return steps.assign(throughput=steps["throughput"].where(steps["throughput_basis"] == "per_gpu"))


def _eval_only(done: Sequence["Done"]) -> bool:
    """Evaluations outside the step are told from inside ones by their size already."""
    return all(set(one.mapping.outside_s) <= {"eval"} for one in done)


def _counted(done: Sequence["Done"]) -> dict[str, object]:
    """A running total of a run without restarts is its own sum."""
    if any(len(one.attempts) > 1 for one in done):
        return {}
    out: dict[str, object] = {}
    for fact, name in (("tokens_total", "tok_total"), ("rollouts_total", "rollouts")):
        totals = [one.mapping.counters.last[name] for one in done if name in one.mapping.counters.last]
        if totals and len(totals) == len(done):
            out[fact] = float(sum(totals))
    return out


def _by_ratio(done: Sequence["Done"]) -> tuple[str, float] | None:
    for pool in ("", "train_gpus_"):
        ratios = [ratio for one in done for ratio in one.mapping.ratios.get(pool, [])]
        if ratios:
            return pool, whole(float(np.median(ratios)))
    return None


def whole(count: float) -> float:
    """A count within 1 % of a whole number is that number: printed rates are rounded."""
    near = round(count)
    return float(near) if near and abs(count - near) <= _WHOLE * near else count


def flat_proposals(one: "Done", tables: dict[str, pd.DataFrame]) -> list[Proposal]:
    """Run details that the rows let us infer; a reader's own proposals win."""
    run = one.run.run
    out = list(one.run.proposals)
    stated = {proposal.field for proposal in out}
    out += [p for p in _gpu_proposals(one, tables) if p.field not in stated]
    if one.run.llm and "llm" not in stated and (guess := guess_llm(one.run.llm)):
        out.append(Proposal(run, "llm", guess, f"the file names the model {one.run.llm}"))
    if one.run.mode and "mode" not in stated:
        how = f"keys of {one.framework}" if one.framework else "stated in the file"
        out.append(Proposal(run, "mode", one.run.mode, how))
    return out


def _gpu_proposals(one: "Done", tables: dict[str, pd.DataFrame]) -> list[Proposal]:
    out = []
    run = one.run.run
    fields = {"": "gpus", "train_gpus_": "gpus_train", "rollout_gpus_": "gpus_rollout"}
    if one.run.mode == "sync":
        fields = {"": "gpus"} if "" in one.mapping.ratios else {"train_gpus_": "gpus"}
    for pool, name in fields.items():
        ratios = one.mapping.ratios.get(pool)
        if ratios:
            count = whole(float(np.median(ratios)))
            how = f"median over {len(ratios)} steps of tokens/s / (tokens/s/GPU), {_POOL_WORDS[pool]}"
            out.append(Proposal(run, name, _integer(count), f"{how} = {gpu_count(count)}"))
    steps = tables.get("steps")
    if not out and steps is not None:
        own = steps[(steps["run"] == run) & (steps["throughput_basis"] == "per_gpu")]
        if (inferred := infer_gpus(own)) is not None:
            how = f"median over {len(own)} steps of total tokens / (step seconds x tokens/s/GPU)"
            how += f" = {gpu_count(inferred)}"
            out.append(
                Proposal(run, "gpus" if one.run.mode == "sync" else "gpus_train", _integer(inferred), how)
            )
    return out


def _integer(count: float) -> float | int:
    return int(count) if count == int(count) else count


def flat_warnings(done: Sequence["Done"], batch: Batch) -> list[str]:
    """What a reader of the numbers has to know; each sentence once, however many runs it is true of."""
    said = [text for one in done for text in _of_run(one, batch)]
    return list(dict.fromkeys(said))


def _of_run(one: "Done", batch: Batch) -> list[str]:
    mapping = one.mapping
    out = []
    steps = [step for attempt in one.attempts for step in attempt.by_step]
    if one.framework is None and mapping.given is None and steps:
        out.append("The framework is not known: all keys are raw metrics, no step times or tokens are read.")
    if len(one.attempts) > 1:
        out.append(f"The file holds {len(one.attempts)} attempts: the run was restarted inside it.")
    if steps and min(steps) > 1 and mapping.interval <= 1 and not one.run.whole:
        out.append(f"The first step is {min(steps)}: earlier steps are not in this file and are not costed.")
    out += _clock_warnings(one)
    out += _counter_warnings(one)
    if one.run.algorithm == "sft":
        out.append("A supervised run, not reinforcement learning: it has no rollouts and no rewards.")
    if one.framework == "openrlhf" and one.run.mode == "sync":
        out.append("step_total of OpenRLHF is the sum of its timers: what lies between them is not in it.")
    if mapping.ratios and "" not in mapping.ratios and "train_gpus_" in mapping.ratios:
        out.append("The rates count trainer GPUs only: GPUs that generate rollouts come on top.")
    if mapping.outside_s:
        named = ", ".join(sorted(mapping.outside_s))
        out.append(f"The step timer of {one.framework} leaves out {named}: it comes on top of step time.")
    if "evals" in batch.tables and "steps" not in batch.tables:
        out.append("The file holds evaluations only: no step times, so no cost can be derived from it.")
    return out


def _clock_warnings(one: "Done") -> list[str]:
    if not any(a.elapsed_s for a in one.attempts) and one.run.elapsed_s is None and one.mapping.seconds:
        return [f"The file has no clock: {_summed(one)}"]
    if one.by_stamps and any(_falls_short(one, attempt) for attempt in one.attempts):
        return [f"The time stamps span less than the steps: {_summed(one)}"]
    return []


def _falls_short(one: "Done", attempt: FlatAttempt) -> bool:
    seconds = one.mapping.seconds.get(attempt.number)
    return bool(attempt.elapsed_s) and not_below_steps(attempt.elapsed_s or 0.0, seconds)[1] != "clock"


def _summed(one: "Done") -> str:
    timed = any(rule.field == "step_s" for _, rule in one.mapping.fields)
    what = "the sum of step seconds" if timed else "the sum of the phase timers, for there is no step timer"
    return f"elapsed time is {what}; start-up, gaps and restarts are not in it."


def _counter_warnings(one: "Done") -> list[str]:
    mapping, counters = one.mapping, one.mapping.counters
    out = []
    if counters.fell:
        out.append(f"A running total falls {counters.fell} times: the amounts of those steps are unknown.")
    if counters.unknown_first:
        out.append("A running total does not begin at the first step: the amount before it is unknown.")
    if mapping.interval > 1 and any(
        rule.basis in ("cumulative", "interval_mean") for _, rule in mapping.fields
    ):
        out.append(f"A record stands for up to {mapping.interval} steps: its seconds and tokens are theirs.")
    if any(rule.basis == "interval_mean" for _, rule in mapping.fields):
        out.append("step_time leaves out logging, saving and evaluation: the run took longer than its sum.")
    if "tokens" in mapping.derived:
        out.append("Tokens and rollouts are rates x step seconds: as exact as the printed rates.")
    if "rollouts of verl" in mapping.derived:
        out.append("Rollouts per step are not logged; they were inferred from total tokens and mean lengths.")
    return out
