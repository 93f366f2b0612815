"""Headings and cells of tables in words, the same on pages and in reports."""

import re

from analysis.measures import MEASURES
from charts.palette import PHASE_LABELS
from data.catalogue_types import KIND_WORDS

STATUS_LABELS = {
    "measured": "measured",
    "vendor_spec": "vendor",
    "vendor": "vendor",
    "analyst": "analyst",
    "derived": "derived",
    "seed_article_only": "one article",
    "user": "yours",
    "assumed": "assumed",
    "inferred": "inferred",
}
_UNITS = {
    "usd": "USD",
    "s": "s",
    "h": "h",
    "frac": "%",
    "bytes": "bytes",
    "w": "W",
    "points": "points",
    "pct": "%",
    "gib": "GiB",
    "gb": "GB",
}
_WORDS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "llm": "LLM",
    "tok": "tokens",
    "len": "length",
    "mfu": "MFU",
    "ci": "interval",
    "cum": "cumulative",
    "mem": "memory",
    "util": "utilisation",
    "usd": "USD",
    "avg": "mean",
    "gen": "generated",
    "mtok": "million tokens",
    "n": "number of",
}
_FIXED = {
    "gpu_h": "GPU-hours",
    "gpu_hours": "GPU-hours",
    "gpu_hours_low": "GPU-hours, low",
    "gpu_hours_high": "GPU-hours, high",
    "core_hours": "Core-hours",
    "usd": "USD",
    "usd_low": "USD, low",
    "usd_high": "USD, high",
    "llm": "LLM",
    "x": "x",
    "n": "Tasks",
    "k": "k",
    "n_source": "Task count from",
    "n_clusters": "Clusters of tasks",
    "mdd": "Smallest detectable (points)",
    "gain": "Gain (points)",
    "gain_low": "Gain, low (points)",
    "gain_high": "Gain, high (points)",
    "low": "Low",
    "high": "High",
    "free_note": "Why not",
    "usd_per_correct": "USD per verified-correct rollout",
    "usd_per_informative": "USD per informative rollout",
    "p_correct": "Verified correct (%)",
    "p_correct_low": "Verified correct, low (%)",
    "p_correct_high": "Verified correct, high (%)",
    "q_informative": "Informative (%)",
    "q_informative_low": "Informative, low (%)",
    "q_informative_high": "Informative, high (%)",
    "correct_n": "Rollouts checked",
    "groups_n": "Groups counted",
    "covered_frac": "Steps with counts (%)",
    "survived": "Lineage known",
    "step_s": "Step time (s)",
    "step_mean_s": "Mean step (s)",
    "step_median_s": "Median step (s)",
    "step_if_free_s": "Step if free (s)",
    "share_of_usd_frac": "Share of dollars (%)",
    "share_of_step_frac": "Share of the step (%)",
    "speedup_if_free": "Speed-up if free (x)",
    "steps_rollouts": "Steps with rollouts",
    "gpus_rollout": "Rollout GPUs",
    "rollouts_per_s": "Rollouts/s",
    "tok_per_s": "Tokens/s",
    "tok_per_s_per_gpu": "Tokens/s/GPU",
    "tok_per_s_per_rollout_gpu": "Tokens/s/rollout GPU",
    "tok_gen": "Generated tokens",
    "tok_prompt": "Prompt tokens",
    "tok_total": "Tokens",
    "len_mean": "Mean length (tokens)",
    "len_max": "Longest (tokens)",
    "basis_gpu": "Per GPU counts",
    "basis_rollout_gpu": "Per rollout GPU counts",
    "throughput_median": "Median",
    "throughput_min": "Least",
    "throughput_max": "Most",
    "staleness": "Staleness (steps)",
    "check_name": "Check",
    "check": "Check",
    "gpu_id": "GPU",
    "gpu_index": "Index",
    "known_h": "Sampled (h)",
    "unknown_h": "Not sampled (h)",
    "known_s": "Sampled (s)",
    "coverage_frac": "Sampled (%)",
    "first_minute": "First sample",
    "last_minute": "Last sample",
    "not_proves": "Does not prove",
    "rung": "Level",
    "frac": "Share (%)",
    "missing": "What is missing",
    "before_label": "Before is",
    "before_score": "Score before",
    "after_score": "Score after",
    "best_usd_per_point": "Least USD per point",
    "platform_id": "Platform",
    "baseline_platform_id": "From platform",
    "target_platform_id": "To platform",
    "field": "Specification",
    "as_of": "Date",
    "usd_most": "USD at most",
    "goodput_most_frac": "Goodput at most (%)",
    "goodput_least_frac": "Goodput at least (%)",
    "algo": "Algorithm",
}
ALGORITHMS = {
    "grpo": "GRPO", "ppo": "PPO", "dpo": "DPO", "sft": "SFT", "distill": "distillation", "other": "other"
}  # fmt: skip
MODES = {"sync": "synchronous", "one_step_off": "one step off", "async": "asynchronous"}
ENDS = {"low": ", low", "high": ", high", "min": ", least", "max": ", most"}
_ON_TOP_WORDS = {"outside": "work on top of the step", "outside_exposed": "waiting on top of the step"}
_VALUES = {
    "kind": {**KIND_WORDS, "wall": "work", "wait": "waiting", "exposed": "waiting, exposed", **_ON_TOP_WORDS},
    "mode": MODES,
    "algorithm": ALGORITHMS,
    "phase": {**PHASE_LABELS, "": "None"},
    "rung": {"paid": "Paid", "allocated": "Allocated", "active": "Active", "effective": "Effective"},
    "before_label": {"start": "where the money started", "first_logged": "first evaluation logged"},
    "verdict": {"cannot_tell": "cannot tell", "refused": "not comparable"},
}
_GPU = re.compile(r"\bgpu\b")
_PLAIN_IDS = {"basis", "n_source", "method", "check_name", "tier", "parameter", "throughput_basis"}
_VALUES["measure"] = {
    **{m: MEASURES[m].label for m in MEASURES},
    "mem_bytes": "Memory used",
    "mem_total_bytes": "Memory in all",
    "power_w": "Power",
    "power_limit_w": "Power limit",
    "energy_j": "Energy counter",
    "sm_clock_mhz": "SM clock",
    "temp_c": "Temperature",
}
_VALUES["applies_to_phase"] = _VALUES["phase"]


def value_label(column: str, value: object) -> object:
    """Return what a cell shows for a value that has words: 'one step off' for one_step_off."""
    if not isinstance(value, str):
        return value
    plain = _GPU.sub("GPU", value.replace("_", " ")) if column in _PLAIN_IDS else value
    return _VALUES.get(column, {}).get(value, plain)


def has_value_labels(column: str) -> bool:
    """Whether the values of a column are ids that have words."""
    return column in _VALUES or column in _PLAIN_IDS


def status_label(status: str) -> str:
    """Return the badge text of a fact's status."""
    return STATUS_LABELS.get(status, status.replace("_", " "))


def column_label(name: str) -> str:
    """Return a heading with its unit made from a column name.

    >>> column_label("step_s"), column_label("gpu_h"), column_label("usd")
    ('Step time (s)', 'GPU-hours', 'USD')
    """
    if name in _FIXED:
        return _FIXED[name]
    parts = name.split("_")
    tail = ""
    if len(parts) > 1 and parts[-1] in ENDS:
        tail = ENDS[parts.pop()]
        if "_".join(parts) in _FIXED:
            return _FIXED["_".join(parts)] + tail
    unit = ""
    if "per" not in parts and len(parts) > 1 and parts[-1] in _UNITS:
        unit = f" ({_UNITS[parts.pop()]})"
    if len(parts) > 1 and parts[-1] == "id":
        parts.pop()
    words = [_WORDS.get(p, p) for p in parts]
    text = " ".join(words)
    return text[:1].upper() + text[1:] + tail + unit
