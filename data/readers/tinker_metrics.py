"""Tinker cookbook: `metrics.jsonl`, one flat object a step, of RL or of supervised training."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.flat import FlatRun, Row, make_batch
from data.logs.json_rows import JsonLog, numbers, read_json_log, shown, step_of
from data.logs.verl_batch import run_name
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_KEY = re.compile(r'"([^"\\]+)"\s*:')
_ENV = re.compile(r"^env/(?:all|\d+|[^/]+)/")
_SFT_SIGNS = ("num_tokens", "num_loss_tokens", "num_sequences", "train_mean_nll")
_RL_SIGNS = (
    "env/all/total_ac_tokens",
    "env/all/total_ob_tokens",
    "env/all/reward/total",
    "env/all/total_episodes",
)
SIGNS = (*_RL_SIGNS, *_SFT_SIGNS)
HOSTED = "Tinker is a hosted service priced in tokens: the file knows no GPUs and no GPU-hours."


class TinkerRlReader:
    """RL metrics of the Tinker cookbook."""

    format = "tinker_metrics_jsonl_rl"
    title = "Tinker RL metrics (JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Flat objects with `env/all/*` counters of tokens and episodes."""
        keys = _keys(source)
        found = [key for key in _RL_SIGNS if key in keys]
        if len(found) >= 2:
            return Sniff(0.97, f"flat objects with Tinker's {found[0]} and {found[1]}")
        if found and {"step", "progress/batch"} & keys:
            return Sniff(0.8, f"flat objects with Tinker's {found[0]}")
        return Sniff(0.0, "no env/all/* counters of Tinker")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
        run: str | None = None,
    ) -> Batch:
        """Read all objects; raises UnreadableFileError when none holds a step."""
        return _batch(self.format, source, run or run_name(choices, source), progress, None)


class TinkerSftReader:
    """Supervised or distillation metrics of the Tinker cookbook."""

    format = "tinker_metrics_jsonl_sft"
    title = "Tinker supervised metrics (JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Flat objects with token and loss-token counts, and no environment."""
        keys = _keys(source)
        found = [key for key in _SFT_SIGNS if key in keys]
        if any(_ENV.match(key) for key in keys) or "step" not in keys:
            return Sniff(0.0, "no step, or keys of an environment")
        if len(found) >= 3:
            return Sniff(0.95, f"flat objects with Tinker's {', '.join(found[:3])}")
        return Sniff(0.0, "no token counts of Tinker's supervised trainer")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
        run: str | None = None,
    ) -> Batch:
        """Read all objects; raises UnreadableFileError when none holds a step."""
        return _batch(self.format, source, run or run_name(choices, source), progress, "sft")


_HEADS = frozenset({"step", "epoch"})
_TRACKER = frozenset({"_step", "_runtime", "_wandb"})
"""A W&B history or summary of the same run: W&B's own readers know its clock."""


def _keys(source: Source) -> set[str]:
    if not source.head.lstrip().startswith("{"):
        return set()
    keys = set(_KEY.findall(source.head))
    return set() if keys & _TRACKER else keys


def _read(source: Source, progress: Progress) -> JsonLog:
    bad: list[SetAside] = []

    def take(line: int, value: dict[str, object]) -> Row | SetAside:
        step = step_of(value, "step", "progress/batch")
        if step is None:
            return SetAside(line, 'an object without a whole "step"', shown(value))
        read = numbers(line, value, _HEADS)
        if not any(v == v for v in read.values.values()):
            return SetAside(line, f"step {step} holds no number", shown(value))
        bad.extend(read.bad)
        return Row(step, read.values, line)

    log = read_json_log(source, take, progress)
    log.set_aside += bad
    if not log.rows:
        raise UnreadableFileError(
            "No object with a step in this file",
            source.name,
            "Load the metrics.jsonl of the Tinker cookbook.",
        )
    return log


def _batch(format: str, source: Source, name: str, progress: Progress, algorithm: str | None) -> Batch:
    log = _read(source, progress)
    file = log.file(format, format)
    file.warnings.append(HOSTED)
    run = FlatRun(name, log.rows, framework="tinker", algorithm=algorithm)
    return make_batch(file, [run], source)


READERS = (TinkerRlReader(), TinkerSftReader())
