"""Blocks of a NeMo RL console log: results, timing, performance and validation of one step."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

RESULTS = {
    "Loss": "train/loss",
    "Draft Loss": "train/draft_loss",
    "Generation KL Error": "train/gen_kl_error",
    "Avg Reward": "train/reward",
    "Avg Total Reward": "train/reward",
    "Avg Filtered Reward": "train/filtered_reward",
    "Mean Generation Length": "train/mean_gen_tokens_per_sample",
    "Buffer Size": "train/buffer_size",
    "Avg Trajectory Age": "train/avg_trajectory_age",
}
PERFORMANCE = {
    "Mean Total Tokens per Sample": "train/mean_total_tokens_per_sample",
    "Average Token Imbalance": "performance/average_token_imbalance",
    "Training Worker Idle Time Ratio": "performance/training_worker_idle_time_ratio",
    "Training Model Floating Point Utilization": "performance/train_fp_utilization",
    "E2E (Samples/sec/gpu)": "performance/samples_per_sec_per_gpu",
    "E2E (Tokens/sec/gpu)": "performance/tokens_per_sec_per_gpu",
    "E2E (Samples/sec)": "performance/samples_per_sec",
    "E2E (Tokens/sec)": "performance/tokens_per_sec",
    "Policy Training (Tokens/sec/gpu)": "performance/policy_training_tokens_per_sec_per_gpu",
    "Policy and Reference Logprobs (Tokens/sec/gpu)": (
        "performance/policy_and_reference_logprobs_tokens_per_sec_per_gpu"
    ),
    "Training Worker Group (Tokens/sec/gpu)": "performance/training_worker_group_tokens_per_sec_per_gpu",
    "Training Worker Group (Tokens/sec)": "performance/training_worker_group_tokens_per_sec",
    "Generation Worker Group (Tokens/sec/gpu)": "performance/generation_tokens_per_sec_per_gpu",
    "Generation Worker Group (Tokens/sec)": "performance/generation_tokens_per_sec",
}
VALIDATION = {
    "Accuracy": "validation/accuracy",
    "Accuracy (total)": "validation/accuracy",
    "Average response length": "validation/avg_length",
    "Samples processed": "validation/samples",
    "Total validation time": "timing/validation/total_validation_time",
}
STEP_TIME = "timing/train/total_step_time"
FLOPS_PER_GPU = "performance/train_flops_per_gpu"
_SECTION = re.compile(
    r"(Training Results|Validation Results|Validation Timing|Timing|Performance Metrics):\s*$"
)
_STEP = re.compile(r"^=+ Step (\d+)(?:/(\d+))? =+$")
_EPOCH = re.compile(r"^=+ Epoch (\d+)(?:/(\d+))? =+$")
_VALIDATE = re.compile(r"Starting validation at step (\d+)")
_BULLET = re.compile(r"^([•·∙●▪*\-])\s+([^\s:][^:]*?):\s*(\S.*)$")
_VALUE = re.compile(
    r"^([-+]?(?:\d[\d,]*(?:\.(\d+))?(?:[eE][-+]?\d+)?|nan|inf))\s*(%|s|tokens|steps|TFLOPS)?"
    r"(?:\s*\(([\d.]+)(%| TFLOPS per rank)\))?$"
)
PERCENTAGES = ("Utilization", "Imbalance")
"""Ends of labels that are printed in percent: without the sign their line was cut."""
_SLUG = re.compile(r"[^a-z0-9]+")
_HEADING_LENGTH = 60
_DECIMALS = {"results": 4, "timing": 2, "performance": 2}


@dataclass
class Block:
    """One printed block. `step` is None where no heading named it; ratios are 0..1, times seconds.

    `zero_keys`: values of which the printing left only zeros.
    """

    line: int
    kind: str
    step: int | None
    values: dict[str, float] = field(default_factory=dict)
    zero_keys: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Reading:
    key: str
    value: float
    decimals: int | None
    whole: bool


@dataclass
class BlockScanner:
    """Takes cleaned lines one by one and hands out blocks when they are complete."""

    planned: int | None = None
    cut: bool = False
    _block: Block | None = None
    _section: str = ""
    _step: int | None = None
    _epoch: int = 1
    _validated: int | None = None

    def feed(self, line: int, text: str, last: bool = False) -> Iterator[Block]:
        """Look at one line; `last`: it is the unterminated end of the file and may be cut."""
        section = _SECTION.search(text) if len(text) < _HEADING_LENGTH else None
        if section is not None:
            yield from self._open(line, section[1])
        elif heading := (_STEP.match(text) or _EPOCH.match(text)):
            yield from self.close()
            self._heading(text, heading)
        elif found := _VALIDATE.search(text):
            self._validated = int(found[1])
        elif self._block is not None and self._section:
            self._read(text, last)

    def close(self) -> Iterator[Block]:
        """The block that is still open, if it holds anything."""
        block, self._block, self._section = self._block, None, ""
        if block is not None and block.values:
            yield block

    def _heading(self, text: str, heading: re.Match[str]) -> None:
        if " Epoch " in text:
            self._epoch = int(heading[1])
            return
        per_epoch = int(heading[2]) if heading[2] else None
        self._step = int(heading[1])
        if per_epoch is not None:
            self._step += (self._epoch - 1) * per_epoch
            self.planned = per_epoch if self._epoch == 1 else None

    def _open(self, line: int, title: str) -> Iterator[Block]:
        name = {
            "Training Results": "results",
            "Timing": "timing",
            "Performance Metrics": "performance",
        }.get(title, "validation")
        kind = "validation" if name == "validation" else "step"
        held = self._block
        again = held is not None and (
            held.kind != kind
            or title in ("Training Results", "Validation Results")
            or (name == "timing" and STEP_TIME in held.values)
        )
        if again:
            yield from self.close()
        if self._block is None:
            self._block = Block(line, kind, self._number(kind))
        self._section = name

    def _number(self, kind: str) -> int | None:
        if kind == "validation":
            number, self._validated = self._validated, None
            return number if number is not None else self._step
        number, self._step = self._step, None
        return number

    def _read(self, text: str, last: bool) -> None:
        bullet = _BULLET.match(text)
        reading = _reading(self._section, bullet) if bullet else None
        if last and (bullet or text[:1] in "•·∙●▪"):
            wanted = _DECIMALS.get(self._section, 0)
            if reading is None or not reading.whole or (reading.decimals or 0) < wanted:
                self.cut = True
                return
        if reading is None or self._block is None:
            return
        self._block.values[reading.key] = reading.value
        if reading.value == 0.0 and reading.decimals:
            self._block.zero_keys.append(reading.key)


def _reading(section: str, bullet: re.Match[str]) -> _Reading | None:
    mark, name, text = bullet[1], bullet[2].strip(), bullet[3].strip()
    found = _VALUE.match(text)
    if found is None:
        return None
    value = float(found[1].replace(",", ""))
    value = value if math.isfinite(value) else math.nan
    unit, decimals = found[3], len(found[2]) if found[2] else None
    if name == "Training FLOPS":
        per_rank = found[4] if found[5] == " TFLOPS per rank" else None
        return _Reading(FLOPS_PER_GPU, float(per_rank), 2, True) if per_rank else None
    key = _key(section, name, unit, mark)
    if key is None:
        return None
    if unit == "%":
        value /= 100
    ends_in = "s" if section == "timing" else "%" if name.endswith(PERCENTAGES) else unit
    return _Reading(key, value, decimals, unit == ends_in)


def _key(section: str, name: str, unit: str | None, mark: str) -> str | None:
    """The metric's name on the framework's own loggers; None for what is no metric of a step.

    Known labels and the form of timers tell more than the section: its heading may be missing.
    """
    if section == "validation":
        return VALIDATION.get(name) or (f"validation/{slug(name)}" if mark not in "-*" else None)
    if name == "Total step time":
        return STEP_TIME
    known = RESULTS.get(name) or PERFORMANCE.get(name)
    if known is not None:
        return known
    if unit == "s":
        return f"timing/train/{name}"
    if section == "timing" or mark in "-*":
        return None
    return f"{'train' if section == 'results' else 'performance'}/{slug(name)}"


def slug(name: str) -> str:
    """A printed label as a key: lower case, words joined by underscores."""
    return _SLUG.sub("_", name.lower()).strip("_")
