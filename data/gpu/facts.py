"""Canonical facts of a file of GPU samples, from rows in SQL or from sums of compiled loops."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from data.gpu.csv_rows import GpuIdentity, GpuRows
from data.gpu.ordered import Spacing
from data.gpu.rollup import MEASURES, time_facts
from data.sql import first

UTIL_MEASURES = MEASURES[:8]
Means = Sequence[tuple[int, float | None]]
"""Mean by GPU number."""


class Sums(Protocol):
    """Means and extremes of measures; None where no row has a value."""

    def mean(self, measure: str) -> float | None:
        """Mean over all rows."""

    def means(self, measure: str) -> Means:
        """Mean over the rows of each GPU."""

    def top(self, measure: str) -> float | None:
        """Largest value."""

    def means_by_time(self, measure: str) -> Means:
        """Left-hold mean of each GPU."""

    def timed(self) -> dict[str, object]:
        """As `rollup.time_facts`."""


class SqlSums:
    """Sums of view `identified`, later of `held`; MIG `instances` are no rows of a GPU."""

    def __init__(self, rows: GpuRows, measures: Mapping[str, int], instances: str = "") -> None:
        self._con, self._measures = rows.con, measures
        self._every = f"identified where gpu not {instances}" if instances else "raw"
        self.spacing: Spacing | None = None

    def mean(self, measure: str) -> float | None:
        """Mean over all rows."""
        return self._value(f"avg(v{self._measures[measure]})")

    def means(self, measure: str) -> Means:
        """Mean over the rows of each GPU."""
        i = self._measures[measure]
        return self._con.execute(
            f"select gpu, avg(v{i}) from identified group by gpu order by gpu"
        ).fetchall()

    def top(self, measure: str) -> float | None:
        """Largest value."""
        return self._value(f"max(v{self._measures[measure]})")

    def means_by_time(self, measure: str) -> Means:
        """Left-hold mean of each GPU."""
        return self._con.execute(
            f"select gpu, sum(dt_s * {measure}) / nullif(sum(dt_s) filter ({measure} is not null), 0) "
            "from held group by gpu order by gpu"
        ).fetchall()

    def timed(self) -> dict[str, object]:
        """As `rollup.time_facts`."""
        found = time_facts(self._con, list(self._measures), has_gaps=self.spacing is None)
        if self.spacing is not None:
            names = ("gap_max_s", "gap_median_s", "gap_s")
            found |= {name: getattr(self.spacing, name) for name in names}
        return found

    def _value(self, aggregate: str) -> float | None:
        row = first(self._con, f"select {aggregate} from {self._every}")
        return row[0] if row else None


def labels(gpus: Sequence[GpuIdentity]) -> dict[int, str]:
    """How the file names each GPU; where two have one name, with the host or id before it."""
    found = {one.gpu: one for one in reversed(gpus) if one.label}
    seen = Counter(one.label for one in found.values())
    return {
        gpu: str(one.label)
        if seen[one.label] == 1
        else (one.gpu_id or f"{one.host or one.uuid or one.bus}:{one.label}")
        for gpu, one in found.items()
    }


def row_facts(
    facts: dict[str, object],
    gpus: Sequence[GpuIdentity],
    ids: Mapping[int, str],
    measures: Mapping[str, int],
    sums: Sums,
) -> None:
    """Write who was sampled, and means and extremes over rows; `ids`: GPUs that count, by number."""
    counted = [one for one in gpus if one.gpu in ids]
    facts["gpus"] = len(ids) or None
    facts["gpu_model"] = ";".join(dict.fromkeys(one.model for one in counted if one.model)) or None
    facts["hosts"] = len({one.host for one in counted if one.host}) or None
    names = labels(counted)
    for name in measures:
        if name in UTIL_MEASURES:
            facts[f"util_mean_by_row[{name}]"] = sums.mean(name)
            _by_gpu(facts, f"util_mean_by_row[{name}|{{}}]", names, sums.means(name))
    if "power_w" in measures:
        facts["power_mean_w_by_row"] = sums.mean("power_w")
    if "mem_bytes" in measures:
        facts["memory_peak_bytes"] = sums.top("mem_bytes")


def timed_facts(
    facts: dict[str, object],
    gpus: Sequence[GpuIdentity],
    measures: Mapping[str, int],
    sums: Sums,
    offset: str | None,
    has_zone: bool,
) -> None:
    """Write what time fixes; `offset` as the stamps state it, `has_zone`: their UTC is known."""
    found = sums.timed()
    begin, end, total = found["first"], found["last"], found["gap_s"]
    if isinstance(begin, datetime) and isinstance(end, datetime):
        facts["span_s"] = (end - begin).total_seconds()
        if has_zone:
            facts["time_first_epoch_s"] = begin.replace(tzinfo=UTC).timestamp()
    facts["time_zone"] = offset or None
    facts["gap_max_s"], facts["gap_median_s"] = found["gap_max_s"], found["gap_median_s"]
    facts["gpu_hours"] = float(str(total)) / 3600 if total else None
    for name in UTIL_MEASURES:
        if name in measures:
            facts[f"util_mean_by_time[{name}]"] = found[f"mean_{name}"]
    facts["power_mean_w_by_time"] = found.get("mean_power_w")
    known = found.get("known_gpu_util")
    facts["coverage"] = float(str(known)) / float(str(total)) if total and known is not None else None
    if "gpu_util" in measures:
        _by_gpu(facts, "util_mean_by_time[gpu_util|{}]", labels(gpus), sums.means_by_time("gpu_util"))


def _by_gpu(facts: dict[str, object], name: str, names: Mapping[int, str], means: Means) -> None:
    for gpu, mean in means:
        if gpu in names:
            facts[name.format(names[gpu])] = mean
