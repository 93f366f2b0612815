"""Prometheus series: labels as text or JSON -> what is measured and whose GPU it is."""

import re
from collections.abc import Mapping, Sequence

from data.gpu.csv_rows import GpuIdentity
from data.gpu.long import LongTable, Series
from data.gpu.metrics import chosen_metric, metric, place
from data.readers.base import Batch, Choices

LABEL = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.\-]*)\s*(?:=\s*"((?:[^"\\]|\\.)*)")?\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_HOSTLESS = frozenset({"__name__", "job", "endpoint", "prometheus", "cluster"})
PODS_LISTED = 8
SLOW_STEP_S = 60
POINT_LIMIT = 11_000
"""Prometheus refuses a range query with more points a series."""


def parse_labels(text: str) -> dict[str, str] | None:
    """Labels between the braces of a series, escapes resolved; None when the text is no label list.

    A quoted name without a value is the metric's own name (`{"a.b", x="1"}`) and comes as `__name__`.
    """
    labels: dict[str, str] = {}
    at = 0
    while at < len(text) and text[at:].strip():
        match = LABEL.match(text, at)
        if match is None:
            return None
        name, value = match[1], match[2]
        if name.startswith('"'):
            name = _plain(name[1:-1])
        if value is None:
            if not match[1].startswith('"'):
                return None
            name, value = "__name__", name
        labels[name] = _plain(value)
        at = match.end()
    return labels


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], text) if "\\" in text else text


_ABOUT_GPUS = re.compile(r"gpu|dcgm|nvidia|amd|rocm|mig|accel|habana", re.IGNORECASE)


def series_of(name: str | None, labels: Mapping[str, str], shown: str, choices: Choices) -> Series:
    """The series behind a metric name and labels; `shown` is what the file calls it."""
    name = name or labels.get("__name__")
    measured = chosen_metric(choices, name or shown) or metric(name)
    where = place(labels if measured or not name or _ABOUT_GPUS.search(name) else _of_no_gpu(labels))
    gpu = where.gpu
    if measured and gpu is None and not where.names_host_only and not set(labels) - _HOSTLESS:
        gpu = GpuIdentity(0, 0)
    return Series(shown, measured, gpu, mig=where.mig)


def _of_no_gpu(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels without those that name a job or a CPU where the metric is of no GPU."""
    return {name: value for name, value in labels.items() if name not in ("uuid", "index")}


def shown_series(labels: Mapping[str, str]) -> str:
    """A series as PromQL writes it."""
    inner = ",".join(f'{k}="{v}"' for k, v in labels.items() if k != "__name__")
    return labels.get("__name__", "") + (f"{{{inner}}}" if inner else "")


class Pods:
    """Pods and jobs that held the GPUs, as the labels say."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def add(self, labels: Mapping[str, str]) -> None:
        """Remember the pod of a series, if it names one."""
        if pod := place(labels).pod:
            self._names[pod] = None

    def tell(self, batch: Batch) -> None:
        """Say on the receipt which workloads the labels name."""
        if self._names:
            names = list(self._names)
            more = f" and {len(names) - PODS_LISTED} more" if len(names) > PODS_LISTED else ""
            batch.warnings.append(
                f"The labels name {len(names)} pod(s) or job(s) that held the GPUs: "
                f"{', '.join(names[:PODS_LISTED])}{more}. Name the run to tie these GPUs to it."
            )


def describe_series(table: LongTable, batch: Batch) -> None:
    """Which metric name became which measure, which stays unmapped, and what MIG leaves out."""
    for one in table.series:
        name = one.name.partition("{")[0] or one.name
        if one.metric is not None:
            batch.mapped[name] = f"gpu_samples.{one.metric.measure}"
        elif name not in batch.unmapped:
            batch.unmapped.append(name)
    if any(one.mig for one in table.series):
        batch.warnings.append(
            "Values of MIG instances were left out: a part of a GPU is no GPU, and GPU-Util is not measured "
            "for it."
        )


def warn_of_step(batch: Batch, steps_s: Sequence[float], longest: int) -> None:
    """Say when a range query may have been cut or only picked single points."""
    if longest >= POINT_LIMIT:
        batch.warnings.append(
            f"A series has {longest:,} points: Prometheus gives at most {POINT_LIMIT:,} an answer, so the "
            "range may have been cut short or its step raised. Ask for shorter ranges."
        )
    slow = max(steps_s, default=0.0)
    if slow > SLOW_STEP_S:
        batch.warnings.append(
            f"The step is {slow:g} s: every value is one reading picked at that time, not a mean over the "
            "step, unless the query averages (avg_over_time)."
        )
