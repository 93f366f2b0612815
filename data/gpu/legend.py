"""Names of columns in exports (legends, node addresses) -> what is measured and whose GPU it is."""

import re
from collections.abc import Mapping

from data.gpu.csv_rows import GpuIdentity
from data.gpu.long import Series
from data.gpu.metrics import Metric, chosen_metric, metric_inside
from data.parse.prom_series import parse_labels, series_of
from data.readers.base import Choices

NODE_ONLY = "a value of a whole node, no GPU is named"
_SELECTOR = re.compile(r"^(?P<name>[A-Za-z_:][\w:]*)?\s*\{(?P<labels>.*)\}$", re.DOTALL)
_UUID = re.compile(r"\bGPU-[0-9A-Fa-f][0-9A-Fa-f-]{7,}\b")
_NUMBERED = re.compile(r"(?i)(?<![a-z0-9])(?:gpu|nvidia|card|device)\s*[_:#=.-]?\s*(\d{1,3})(?![\w.])")
_HOST_INDEX = re.compile(r"^(\S*?[A-Za-z.]\S*?)[:/](\d{1,2})$")
_HOST = re.compile(r"^(?=.*[A-Za-z0-9])[\w.:-]+$")
_WORDS = frozenset(
    {"gpu", "gpus", "util", "utilization", "utilisation", "usage", "power", "memory", "used", "temp",
     "temperature", "host", "hostname", "on", "node", "instance"}
)  # fmt: skip
_ADDRESS = re.compile(r"^(?P<host>\d{1,3}(?:\.\d{1,3}){3})(?:[-:_/](?P<gpu>\d{1,2}))?(?P<again>\.\d{1,2})?$")
_NODE = re.compile(r"^(?P<host>[A-Za-z][\w.-]*?\d*)(?:[-:_/](?P<gpu>\d{1,2}))?$")


def legend_series(name: str, choices: Choices, guess: Metric | None = None, number: int = 0) -> Series:
    """The series of a panel column, from a selector such as `METRIC{gpu="0"}` or from free text.

    `guess` is what the file name hints at, used only for columns that name a GPU. `number` of the column, 1..
    """
    match = _SELECTOR.match(name)
    labels = parse_labels(match["labels"]) if match else None
    if match is not None and labels is not None:
        found = series_of(match["name"], labels, name, choices)
        measured = chosen_metric(choices, name, str(number)) or found.metric or (guess if found.gpu else None)
        return Series(name, measured, found.gpu, mig=found.mig)
    known = metric_inside(name)
    gpu = gpu_in_text(name.replace(known[0], " ") if known else name)
    measured = (
        chosen_metric(choices, name, str(number)) or (known[1] if known else None) or (guess if gpu else None)
    )
    if measured is not None and gpu is None and (known is not None and known[0] == name.strip()):
        gpu = GpuIdentity(0, 0)
    return Series(name, measured, gpu)


def gpu_in_text(text: str) -> GpuIdentity | None:
    """The GPU that free text names (`node1 GPU 0`, `GPU-1a2b…`, `node1:0`), None when it names none."""
    uuid = _UUID.search(text)
    index = _NUMBERED.search(_UUID.sub(" ", text))
    if index is None and uuid is None:
        pair = _HOST_INDEX.match(text.strip())
        return GpuIdentity(0, 0, host=pair[1], index=pair[2]) if pair else None
    rest = _UUID.sub(" ", text)
    if index is not None:
        rest = _NUMBERED.sub(" ", rest, count=1)
    rest = re.sub(r"[()\[\]{},;|@=/]|\s[-–:]\s|\s[-–:]$|^[-–:]\s", " ", f" {rest} ")
    words = [word.strip("-–:_") for word in rest.split()]
    hosts = [word for word in words if _HOST.match(word) and word.lower() not in _WORDS]
    return GpuIdentity(
        0,
        0,
        host=hosts[0] if len(hosts) == 1 else None,
        uuid=uuid[0] if uuid else None,
        index=index[1] if index else None,
    )


def node_columns(names: list[str]) -> Mapping[str, GpuIdentity] | None:
    """Host and GPU of columns named by address (`10.0.0.1`, `10.0.0.1-3`) or node (`node07-3`).

    None unless nearly all columns are named so, and node names share one stem. A suffix `.1` on a name that
    is there without it is the same column once more.
    """
    matches = {name: _ADDRESS.match(name) or _NODE.match(name) for name in names}
    found = {name: m for name, m in matches.items() if m is not None and _looks(m)}
    if len(found) < 0.8 * len(names) or not found:
        return None
    stems = {re.sub(r"\d+.*$", "", m["host"]) for m in found.values()}
    if len(stems) > max(1, len(found) // 4):
        return None
    return {name: GpuIdentity(0, 0, host=m["host"], index=m["gpu"]) for name, m in found.items()}


def _looks(match: re.Match[str]) -> bool:
    """Whether it is a node: `gpu0_mem` is a measure of a GPU."""
    host = match["host"]
    return any(letter.isdigit() for letter in host) and not re.match(r"gpu_?\d+_[a-z_]+$", host, re.I)


def node_series(name: str, node: GpuIdentity | None, measured: Metric | None) -> Series:
    """The series of a node's column; a node without a GPU number cannot become a GPU sample."""
    if node is None or node.index is None:
        return Series(name, measured, None, aside=NODE_ONLY if measured else "")
    return Series(name, measured, node)
