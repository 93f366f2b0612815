"""The console log of a NeMo RL trainer: blocks "Training Results", "Timing", "Performance Metrics"."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of
from data.logs.console_text import ErrorWatch, LineClock
from data.logs.flat import FlatRun, Row
from data.logs.nemo_rl_lines import STEP_TIME, Block, BlockScanner
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_TOTAL = re.compile(r"Total step time: [\d.]+s")
_TIMER = re.compile(
    r"[•*-] (?:policy_training|policy_and_reference_logprobs|exposed_generation|logprob_inference_prep)"
    r": [\d.]+s"
)
_RESULTS = re.compile(r"Training Results:\s*$", re.MULTILINE)
_HINTS = re.compile(r"\bnemo_rl[./]|▶ (?:Preparing batch|Generating responses|Training policy)")
_ASYNC = ("timing/train/exposed_generation", "train/buffer_size", "train/avg_trajectory_age")
_REWARDS = ("train/reward", "train/filtered_reward")


class NemoRlConsoleReader:
    """Console logs of NeMo RL, with or without step headings."""

    format = "nemo_rl_console"
    title = "NeMo RL console log"

    def sniff(self, source: Source) -> Sniff:
        """The total step time and NeMo RL's timers; its progress messages where no step is in the head."""
        head = source.head
        if _TOTAL.search(head) and _TIMER.search(head):
            return Sniff(0.97, "blocks with 'Total step time' and NeMo RL's timers")
        if _TOTAL.search(head) and _RESULTS.search(head):
            return Sniff(0.9, "blocks 'Training Results' with 'Total step time'")
        if len(_HINTS.findall(head)) >= 3:
            return Sniff(0.6, "no step in the first lines, but NeMo RL's own messages")
        return Sniff(0.0, "no line 'Total step time: …s'")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all blocks; raises UnreadableFileError when there is none."""
        log = ConsoleLog(LineClock(choices.timezone))
        scanner = BlockScanner()
        blocks: list[Block] = []
        printed: dict[int, datetime | None] = {}
        watch = ErrorWatch()
        for number, line in numbered_lines(source, progress):
            last = number == source.physical_lines and not source.ends_with_newline
            for piece in pieces(line):
                text = clean(piece)
                moment = log.clock.feed(piece)
                if text.endswith(("Results:", "Timing:")):
                    watch.record()
                    printed[number] = moment
                watch.feed(text)
                blocks += self._keep(log, scanner.feed(number, text, last), printed)
            if scanner.cut:
                log.cut_line = number
        blocks += self._keep(log, scanner.close(), printed)
        log.watch = watch
        log.place_rows()
        log.planned = scanner.planned
        log.number_rows()
        log.warnings += _warnings(blocks)
        run = FlatRun("", [], framework="nemo-rl", mode=_mode(blocks))
        return batch_of(log, run, self.format, source, choices, "block of NeMo RL ('Total step time: …s')")

    @staticmethod
    def _keep(
        log: ConsoleLog, blocks: Iterable[Block], printed: dict[int, datetime | None]
    ) -> Iterator[Block]:
        for block in blocks:
            log.add(Row(block.step, block.values, block.line), printed.get(block.line))
            yield block


def _mode(blocks: list[Block]) -> str | None:
    steps = [block for block in blocks if block.kind == "step"]
    if any(key in block.values for block in steps for key in _ASYNC):
        return "async"
    return "sync" if any("timing/train/generation" in block.values for block in steps) else None


def _warnings(blocks: list[Block]) -> list[str]:
    steps = [block for block in blocks if block.kind == "step"]
    out = []
    untimed = sum(STEP_TIME not in block.values for block in steps)
    if untimed:
        out.append(f"{untimed} of {len(steps)} blocks have no 'Total step time': the steps are incomplete.")
    zeros = sorted({key for block in steps for key in block.zero_keys if key in ("train/loss", *_REWARDS)})
    if zeros:
        out.append(
            f"This log prints four decimals, so a printed 0.0000 may be a small number: {', '.join(zeros)}."
        )
    return out


READERS = (NemoRlConsoleReader(),)
