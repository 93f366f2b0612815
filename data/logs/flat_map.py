"""Raw keys of any framework -> rows of steps, phases, evals and raw metrics, by the key map."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import median

from data.logs.flat_attempts import FlatAttempt, Step
from data.logs.flat_counters import Counters
from data.logs.keymap import EvalKey, KeyRule, find_rule, load_keymap, score_key
from data.logs.verl import GIB, Tables, combine, eval_row, known_checkpoint, split_tokens
from data.readers.base import SetAside

SFT = "-sft"
OUTSIDE = "outside_step"
HELPERS = ("prompt_len_mean", "turns_max", "rollouts_per_s", "run_seconds")
_ONCE = ("step_s", "reward_mean", "tok_total", "tok_gen", "throughput", "mfu_frac")
_AMOUNTS = frozenset(
    {
        "step_s",
        "tok_total",
        "tok_gen",
        "tok_prompt",
        "tok_trained",
        "rollouts",
        "groups",
        "dropped",
        "throughput",
    }
)
_POSITIVE = ("s", "tokens", "GiB", "rollouts", "rollouts/s", "tokens/s", "tokens/s/GPU", "groups")
_POOLS = {"trainer": "train", "orchestrator": "rollout"}


@dataclass
class Mapping:
    """What the keys of one run mean, and what was noticed while its steps were mapped.

    By attempt: `saved` last step with a checkpoint, `seconds` sum of step seconds (of phases where there is
    no step timer). `ratios`: GPUs of a pool, from a rate of the pool and the same rate per GPU. `given`,
    `given_scores`: what a person said the keys are, in place of the key map.
    """

    run: str
    source: str
    framework: str | None
    mode: str | None
    keys: Sequence[str]
    named_pool: str | None = None
    whole: bool = False
    given: dict[str, KeyRule] | None = None
    given_scores: dict[str, EvalKey] = field(default_factory=dict)
    saved: dict[int, int] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)
    outside_s: dict[str, float] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    derived: set[str] = field(default_factory=set)
    interval: int = 1
    every_step: bool = False
    run_seconds: float | None = None

    @cached_property
    def rules(self) -> dict[str, KeyRule]:
        """Raw key -> rule, in the order of the key map."""
        if self.given is not None:
            return self.given
        framework = self.framework
        if framework is None:
            return {}
        order = {id(rule): place for place, rule in enumerate(load_keymap())}
        found = {key: find_rule(framework, key, self.mode or "") for key in self.keys}
        known = [(key, rule) for key, rule in found.items() if rule is not None]
        return dict(sorted(known, key=lambda pair: order[id(pair[1])]))

    @cached_property
    def fields(self) -> list[tuple[str, KeyRule]]:
        """Keys that become columns of `steps`."""
        found = [(k, r) for k, r in self.rules.items() if r.field and r.field != "score"]
        if not self.whole:
            return found
        return [(k, r) for k, r in found if r.field not in _AMOUNTS or r.basis == "cumulative"]

    @cached_property
    def timers(self) -> list[tuple[str, KeyRule]]:
        """Timers that add up: those inside another one are left out."""
        found = [(k, r) for k, r in self.rules.items() if r.phase and not r.nested]
        return [] if self.whole else found

    @cached_property
    def scores(self) -> dict[str, EvalKey]:
        """Evaluation keys taken apart."""
        if self.given is not None:
            return self.given_scores
        if self.framework is None:
            return {}
        found = {key: score_key(self.framework, key) for key in self.keys}
        return {key: score for key, score in found.items() if score is not None}

    @cached_property
    def once(self) -> frozenset[str]:
        """Keys that a step has one value of."""
        return frozenset(k for k, r in self.fields if r.field in _ONCE and r.basis != "cumulative")

    @cached_property
    def training(self) -> frozenset[str]:
        """Keys of trained steps; every key where the framework is not known."""
        if self.framework is None and not self.given:
            return frozenset(self.keys)
        timed = [k for k, r in self.timers if r.phase not in ("eval", "checkpoint")]
        losses = [k for k in self.keys if k in ("loss", "train/loss", "actor/pg_loss", "actor/loss")]
        return frozenset([*(k for k, r in self.fields if r.field != "run_seconds"), *timed, *losses])

    @cached_property
    def per_call(self) -> frozenset[str]:
        """Timers whose values add up inside a step."""
        return frozenset(k for k, r in self.rules.items() if r.basis == "per_call")

    @cached_property
    def pool(self) -> str | None:
        """Pool whose clock the timers run on; None when nothing tells it."""
        named = self.named_pool
        if named is None and self.framework == "prime-rl":
            own = ("time/forward_backward", "time/wait_for_batch", "perf/mfu")
            named = "trainer" if any(key in self.keys for key in own) else "orchestrator"
        if named:
            return _POOLS.get(named, named)
        return {"sync": "colocated", None: None}.get(self.mode, "train")

    def key_use(self) -> tuple[dict[str, str], list[str]]:
        """(raw key -> what it became, keys that only `metric_raw` holds)."""
        used: dict[str, str] = {}
        for key, rule in self.rules.items():
            if key in self.scores:
                used[key] = "evals.score"
            elif self.whole and (rule.phase or (rule.field in _AMOUNTS and rule.basis != "cumulative")):
                continue
            elif rule.phase:
                used[key] = f"step_phases.{rule.phase}" + (
                    " (inside another timer, not added)" if rule.nested else ""
                )
            elif rule.field in HELPERS:
                used[key] = "helps to tell tokens, rollouts and run time"
            elif rule.field and rule.field != "score":
                since = ", differences of a running total" if rule.basis == "cumulative" else ""
                used[key] = f"steps.{rule.field}{since}"
        return used, [key for key in self.keys if key not in used]


def add_attempt(tables: Tables, mapping: Mapping, attempt: FlatAttempt, before: FlatAttempt | None) -> None:
    """Append the rows of one attempt; `before` is the attempt that ran before it."""
    trained = [s for s in sorted(attempt.by_step) if mapping.training & attempt.by_step[s].values.keys()]
    gaps = _gaps(trained, before is None or attempt.resumed_from_step is None)
    mapping.every_step = len(trained) > 1 and all(b - a == 1 for a, b in pairwise(trained))
    if mapping.whole:
        gaps = dict.fromkeys(trained, 1)
        _last_ratio(mapping, attempt)
    mapping.counters.start(attempt, before, mapping.fields, gaps)
    mapping.interval = max([mapping.interval, *(n for n in gaps.values() if n)])
    for number in sorted(attempt.by_step):
        step = attempt.by_step[number]
        measures, rates = _measures(tables, mapping, step, gaps.get(number))
        phases = _phases(tables, mapping, attempt.number, step)
        if measures or rates or phases:
            tables.steps.append(_step_row(mapping, attempt.number, step, measures, rates))
        tables.step_phases.extend(phases)
        _evals(tables, mapping, attempt.number, step)
        if mapping.saved.get(attempt.number) == number:
            known_checkpoint(tables, mapping.run, attempt.number, number)["note"] = "saved"
        _add_seconds(mapping, attempt.number, measures, phases)


def _last_ratio(mapping: Mapping, attempt: FlatAttempt) -> None:
    """A summary has the rates of the last step: what they amount to is unknown, how many GPUs is not."""
    for step in attempt.by_step.values():
        rates: dict[str, float] = {}
        for key, rule in mapping.rules.items():
            value = step.values.get(key)
            if rule.field == "throughput" and value is not None and value > 0:
                rates.setdefault(rule.basis, value)
        _note_ratios(mapping, rates)


def _gaps(trained: list[int], from_start: bool) -> dict[int, int | None]:
    """How many steps each record stands for; None where that cannot be told."""
    between = [b - a for a, b in pairwise(trained)]
    usual = round(median(between)) if between else None
    gaps: dict[int, int | None] = dict(zip(trained[1:], between, strict=True))
    if trained:
        first = trained[0]
        begins = from_start and (first <= 1 or (usual is not None and first <= usual))
        gaps[first] = (usual if usual and abs(usual - first) <= 1 else max(first, 1)) if begins else None
    return gaps


def _measures(
    tables: Tables, mapping: Mapping, step: Step, gap: int | None
) -> tuple[dict[str, float], dict[str, float]]:
    """(columns of `steps` in base units, rates by basis); impossible values are set aside."""
    found: dict[str, float] = {}
    rates: dict[str, float] = {}
    for key, rule in mapping.fields:
        value = step.values.get(key)
        if value is None or math.isnan(value) or (value == 0 and rule.field in ("mfu_frac", "throughput")):
            continue
        scaled = value / 100 if rule.unit == "percent" else value * GIB if rule.unit == "GiB" else value
        problem = _impossible(scaled, rule.unit)
        if problem:
            tables.set_aside.append(SetAside(step.line, problem, repr(value), key))
        elif rule.field == "run_seconds":
            mapping.run_seconds = scaled
        elif rule.field == "throughput":
            rates.setdefault(rule.basis, scaled)
        elif rule.basis == "interval_mean":
            if gap is not None or mapping.every_step:
                combine(found, rule.field, scaled * (gap or 1))
        elif rule.basis != "cumulative":
            combine(found, rule.field, scaled)
    for name, value in mapping.counters.differences(step).items():
        found.setdefault(name, value)
    _note_ratios(mapping, rates)
    _derive(mapping, found, rates)
    return found, rates


def _impossible(value: float, unit: str) -> str | None:
    if unit in ("ratio", "percent") and not 0 <= value <= 1:
        return "a ratio outside 0..1" if unit == "ratio" else "a percentage outside 0..100"
    return "negative" if unit in _POSITIVE and value < 0 else None


def _note_ratios(mapping: Mapping, rates: dict[str, float]) -> None:
    for pool in ("", "train_gpus_", "rollout_gpus_"):
        whole, each = rates.get(f"{pool}cluster"), rates.get(f"{pool}per_gpu")
        if whole and each:
            mapping.ratios.setdefault(pool, []).append(whole / each)


def _derive(mapping: Mapping, found: dict[str, float], rates: dict[str, float]) -> None:
    """Totals that the other numbers fix; what they are made of is told in a warning."""
    if "tok_total" not in found and {"tok_prompt", "tok_gen"} <= found.keys():
        found["tok_total"] = found["tok_prompt"] + found["tok_gen"]
    step_s = found.get("step_s")
    if mapping.framework == "nemo-rl" and step_s:
        if "tok_total" not in found and "cluster" in rates:
            found["tok_total"] = rates["cluster"] * step_s
            mapping.derived.add("tokens")
        if "rollouts" not in found and "rollouts_per_s" in found:
            found["rollouts"] = found["rollouts_per_s"] * step_s
            mapping.derived.add("rollouts")
    if mapping.framework == "verl" and {"tok_total", "prompt_len_mean", "len_mean"} <= found.keys():
        exact = split_tokens(found["tok_total"], found["prompt_len_mean"], found["len_mean"], 0.0)
        if exact is not None:
            found["rollouts"], found["tok_prompt"] = exact[0], exact[1]
            mapping.derived.add("rollouts of verl")
            if found.get("turns_max", 2.0) <= 2:
                found["tok_gen"] = exact[2]


def _step_row(
    mapping: Mapping, attempt: int, step: Step, found: dict[str, float], rates: dict[str, float]
) -> dict[str, object]:
    row: dict[str, object] = {
        "run": mapping.run,
        "attempt": attempt,
        "step": step.step,
        "source": mapping.source,
        "elapsed_s": step.elapsed_s,
        "ts": step.ts,
    }
    row |= {name: value for name, value in found.items() if name not in HELPERS}
    basis = next((name for name in ("per_gpu", "cluster", *rates) if name in rates), None)
    if basis is not None:
        row |= {"throughput": rates[basis], "throughput_basis": basis}
    return row


def _phases(tables: Tables, mapping: Mapping, attempt: int, step: Step) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for key, rule in mapping.timers:
        seconds = step.values.get(key)
        if seconds is None or math.isnan(seconds):
            continue
        if seconds < 0:
            tables.set_aside.append(SetAside(step.line, "negative", repr(seconds), key))
            continue
        if rule.basis == OUTSIDE:
            mapping.outside_s[rule.phase] = mapping.outside_s.get(rule.phase, 0.0) + seconds
        if rule.phase == "checkpoint" and seconds > 0:
            mapping.saved[attempt] = max(step.step, mapping.saved.get(attempt, step.step))
        rows.append(
            {
                "run": mapping.run,
                "attempt": attempt,
                "pool": mapping.pool,
                "step": step.step,
                "phase": rule.phase,
                "seconds": seconds,
                "kind": rule.kind,
                "source_key": key,
            }
        )
    return rows


def _evals(tables: Tables, mapping: Mapping, attempt: int, step: Step) -> None:
    for key, parsed in mapping.scores.items():
        score = step.values.get(key)
        if score is None or math.isnan(score):
            continue
        unit = mapping.rules[key].unit
        if unit == "fraction" and not 0 <= score <= 1:
            why = "a score outside 0..1 is no fraction: name it percent or points"
            tables.set_aside.append(SetAside(step.line, why, repr(score), key))
            continue
        checkpoint = known_checkpoint(tables, mapping.run, attempt, step.step)["checkpoint"]
        row = eval_row(mapping.run, attempt, step.step, checkpoint, parsed, score)
        if unit == "reward":
            row["score_kind"] = "points"
        tables.evals.append(row)


def _add_seconds(
    mapping: Mapping, attempt: int, found: dict[str, float], phases: list[dict[str, object]]
) -> None:
    timed = any(rule.field == "step_s" for _, rule in mapping.fields)
    own = found.get("step_s") if timed else None
    if not timed and phases:
        own = sum(float(str(row["seconds"])) for row in phases if row["kind"] != "busy")
    if own is not None:
        mapping.seconds[attempt] = mapping.seconds.get(attempt, 0.0) + own
