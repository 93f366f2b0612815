"""What the command line shows on a terminal: progress bars, receipts, refusals."""

import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.facts_base import gpu_number
from reports.home import ask_progress

LONGEST_BAR = 24
POLL_SECONDS = 0.3
DRAW_SECONDS = 0.1
SHOWN_LINES = 5


class Bar:
    """A progress bar on standard error, only on a terminal."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.live = sys.stderr.isatty()
        self.drawn = 0.0

    def show(self, stage: str, done: int, total: int | None) -> None:
        """Draw at most ten times a second."""
        now = time.monotonic()
        if not self.live or (now - self.drawn < DRAW_SECONDS and done != total):
            return
        self.drawn = now
        filled = int(LONGEST_BAR * min(1.0, done / total)) if total else 0
        bar = "█" * filled + "░" * (LONGEST_BAR - filled)
        counts = f"{done:,} of {total:,}" if total else f"{done:,}"
        line = f"{self.name[:30]}  {bar}  {stage}  {counts}"
        print(
            "\r\033[K" + line[: shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True
        )

    def clear(self) -> None:
        """Take the bar away."""
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Watched:
    """Show a server's progress with a job while the block runs."""

    def __init__(self, bar: Bar | None, home: Path, job: str) -> None:
        self.bar, self.home, self.job = bar, home, job
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if self.bar and self.bar.live:
            self.thread = threading.Thread(target=self._poll, daemon=True)
            self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.thread and self.bar:
            self.thread.join()
            self.bar.clear()

    def _poll(self) -> None:
        while not self.over.wait(POLL_SECONDS):
            seen = ask_progress(self.home, self.job)
            if seen and self.bar:
                self.bar.show(seen["stage"], seen["done"], seen["total"])


def print_receipt(receipt: Mapping[str, Any]) -> None:
    """Print what became of a file."""
    print(f"{receipt['file']}: {receipt['format']} (confidence {receipt['confidence']:.2f})")
    if receipt["duplicate_of"]:
        print(f"  already loaded as {receipt['duplicate_of']}; nothing was added")
    counts = [receipt["records"], receipt["stored"], receipt["quarantined"], sum(receipt["ignored"].values())]
    print("  {:,} records = {:,} stored + {:,} set aside + {:,} ignored".format(*counts))
    for item in receipt["set_aside"][:SHOWN_LINES]:
        print(f"    line {item['line']}: {item['reason']}")
    more = max(receipt["quarantined"], len(receipt["set_aside"])) - SHOWN_LINES
    if more > 0:
        print(f"    … and {more:,} more (see --json)")
    if receipt["runs"]:
        steps = receipt["steps"]
        span = f"; {steps['count']} steps, {steps['first']} to {steps['last']}" if steps["count"] else ""
        print(f"  runs: {', '.join(receipt['runs'])}{span}")
    for joined in receipt.get("joins", [])[:SHOWN_LINES]:
        attempt = "" if joined["attempt"] is None else f", attempt {joined['attempt']}"
        print(f"  joined to run {joined['run']}{attempt}, because {joined['why']}")
    for text in receipt.get("tied", []):
        print(f"  {text}")
    for text in [*receipt["warnings"], *receipt.get("untied", [])]:
        print(f"  ! {text}")
    for missing in receipt["missing_for_cost"]:
        print(f"  still needed for dollars: {missing['run']}: {missing['text']}{_proposed(missing)}")


def _proposed(missing: Mapping[str, Any]) -> str:
    """What the files propose for a cell that dollars lack, and how it is known."""
    value = missing.get("proposal")
    if value is None:
        return ""
    if isinstance(value, Mapping):
        shown = ", ".join(f"{role} {gpu_number(float(gpus))}" for role, gpus in value.items())
    else:
        shown = gpu_number(float(value)) if missing["field"] == "gpus" else str(value)
        if missing["field"] == "gpus" and float(value) != int(value):
            return f" Its log counts {shown}, which is not whole, so say what was held ({missing['how']})."
    return f" Proposed: {shown} ({missing['how']})."


def print_passed_over(items: Sequence[Mapping[str, Any]]) -> None:
    """Print which files no reader knows."""
    if not items:
        return
    print(f"Passed over: {len(items):,} file{'s' if len(items) > 1 else ''}")
    for item in items[:SHOWN_LINES]:
        print(f"  {item['file']}: {item['why']}")
    if len(items) > SHOWN_LINES:
        print(f"  … and {len(items) - SHOWN_LINES:,} more (see --json)")


def candidates(error: Mapping[str, Any]) -> list[str]:
    """Return one line for each format that an unclear file may have, and how to pass it."""
    return [
        f"  --format {one['format']}  {one['title']} ({100 * one['confidence']:.0f} % sure): {one['why']}"
        for one in error.get("candidates", [])
    ]


def sentence(error: Mapping[str, Any], file: str = "") -> str:
    """Return a refusal as one line: what, where, remedy."""
    place = f" ({error['where']})" if error.get("where") else ""
    head = f"{file}: " if file and file not in str(error.get("where", "")) else ""
    remedy = f" {error['remedy']}" if error.get("remedy") else ""
    return f"{head}{str(error['what']).rstrip('.')}{place}.{remedy}"


def print_answer(found: Mapping[str, Any]) -> None:
    """The answer of a question, its figures and what has to be said beside them."""
    print(found["answer"])
    print(*headline_lines(found["headline"]), sep="\n")
    for notice in found["warnings"]:
        print(f"  ! {notice['text']}")


def headline_lines(headline: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line a headline figure, in the words and digits of the page: value with unit, then its range."""
    from analysis.result import Figure  # every command would wait for the analyses
    from charts.text import figure_quantity, interval, unit_tail

    lines = []
    for raw in headline:
        one = Figure(**raw)
        value = one.missing if one.value is None else f"{figure_quantity(one)} {unit_tail(one.unit)}"
        lines.append(f"  {one.label or one.name}: {str(value).strip()}  {interval(one)}".rstrip())
    return lines
