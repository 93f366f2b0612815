"""What a run is called when its files do not say: after the file, or after the folder of a generic file."""

import re
from pathlib import PurePosixPath

GENERIC = frozenset(
    {
        "config", "console", "data", "err", "error", "eval", "events", "files", "history", "job", "log",
        "logger", "logs", "main", "metric", "metrics", "orchestrator", "out", "output", "outputs", "params",
        "results", "rollout", "run", "run_default", "runs", "scalars", "slurm", "stats", "std",
        "stderr", "stdout", "summary", "system", "tb", "telemetry", "tensorboard", "train",
        "trainer", "trainer_log", "trainer_state", "training", "test", "val", "validation",
        "upload", "wandb-history", "wandb-summary",
    }
)  # fmt: skip
"""Stems that any run may use: they say nothing about which run it is."""
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_NUMBERED = re.compile(r"(\D*)(\d*)")


def natural(name: str) -> list[tuple[str, int]]:
    """A key that sorts `run_2` before `run_10`."""
    return [(text, int(digits or 0)) for text, digits in _NUMBERED.findall(name)]


def stem_of(name: str) -> str:
    """The last part of a file name without its ending; a name that ends with a slash is a folder."""
    last = PurePosixPath(name).name
    return last if name.endswith("/") else PurePosixPath(last).stem


def run_name_of(name: str) -> str:
    """The name of a run after its file: the stem, or the nearest telling folder when the stem is generic."""
    parts = PurePosixPath(name).parts
    stems = [*(part for part in parts[:-1] if part not in ("/", ".", "..")), stem_of(name)]
    telling = [stem for stem in stems if stem and not _generic(stem)]
    return telling[-1] if telling else stems[-1]


def says_nothing(name: str) -> bool:
    """True when neither the file nor a folder of its name tells which run it is."""
    return _generic(run_name_of(name))


def archive_run(name: str) -> str | None:
    """The run that an archive of several files is named after; None for another file or a generic name."""
    last = PurePosixPath(name).name
    ending = next((e for e in ARCHIVES if last.lower().endswith(e)), None)
    stem = last[: -len(ending)] if ending else ""
    return stem if stem and not _generic(stem) else None


def unnamed(local: str, name: str) -> bool:
    """True when a reader's local run name says no more than the name of the file does."""
    return local in ("", stem_of(name), PurePosixPath(name).stem, run_name_of(name))


def _generic(stem: str) -> bool:
    return stem.lower() in GENERIC or stem.startswith("events.out.tfevents") or _step_folder(stem)


def _step_folder(stem: str) -> bool:
    """`checkpoint-500`, `step_40`: a folder of one run, not a run."""
    head, _, tail = stem.replace("_", "-").rpartition("-")
    return tail.isdigit() and head.lower() in ("checkpoint", "global-step", "step")
