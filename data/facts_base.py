"""The canonical facts that every answer holds, null until a reader fixes them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.readers.base import Source  # it brings pandas, and the command line starts without it

PHASES = (
    "rollout", "env", "reward", "logprob", "ref", "value", "advantage",
    "train", "weight_sync", "checkpoint", "eval", "data", "other",
)  # fmt: skip

PLAIN_FACTS = (
    "format", "records", "physical_lines", "columns", "encoding", "line_ending", "header_repeated",
    "partial_last_line", "ragged_rows", "missing_cells",
    "runs", "run_names", "steps_count", "step_first", "step_last",
    "step_seconds_sum", "step_seconds_mean", "step_seconds_median", "run_seconds", "unattributed_seconds",
    "tokens_total", "tokens_generated", "tokens_prompt", "rollouts_total", "throughput_tokens_per_s",
    "mfu_mean", "reward_mean", "reward_last",
    "gpus", "gpu_count_inferred", "gpu_model", "hosts", "coverage",
    "power_mean_w_by_row", "power_mean_w_by_time", "memory_peak_bytes",
    "time_first_epoch_s", "time_zone", "span_s", "gap_max_s", "gap_median_s",
    "jobs", "gpu_hours", "billed_cost", "effective_cost", "list_cost", "unused_commitment_cost",
    "currency", "charge_period_start", "charge_period_end",
)  # fmt: skip

KEYED_FACTS = (
    *(f"phase_seconds[{phase}]" for phase in PHASES),
    "util_mean_by_row[gpu_util]",
    "util_mean_by_row[sm_active]",
    "util_mean_by_time[gpu_util]",
)


def blank_facts() -> dict[str, object]:
    """Every fact name that is always in the answer, each None: absent is null, never 0."""
    return dict.fromkeys((*PLAIN_FACTS, *KEYED_FACTS))


def source_facts(source: "Source") -> dict[str, object]:
    """`blank_facts` with what the spool pass already knows of the file."""
    facts = blank_facts()
    facts["physical_lines"] = source.physical_lines
    facts["encoding"] = source.encoding
    facts["line_ending"] = source.line_ending
    return facts


def gpu_number(gpus: float) -> str:
    """A number of GPUs: three significant digits where it is not whole.

    >>> gpu_number(1024.0), gpu_number(7.586644691802059)
    ('1,024', '7.59')
    """
    return f"{gpus:,.0f}" if gpus == int(gpus) or gpus >= 100 else f"{gpus:.3g}"


def gpu_count(gpus: float) -> str:
    """The same with its unit: `16 GPUs`, `1 GPU`."""
    return f"{gpu_number(gpus)} GPU{'' if gpus == 1 else 's'}"
