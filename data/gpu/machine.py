"""Which machine a GPU log without a host comes from: its file name, its folder, and whether samples agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import duckdb

from data.arrival.names import GENERIC, stem_of
from data.gpu.parts import samples_sql
from data.gpu.rollup import MEASURES
from data.merge import differs
from data.readers.base import Batch, Choices
from data.sql import first
from data.tables import types

TOOLS = frozenset(
    {
        "amd-smi", "amd_smi", "dcgm", "dcgmi", "dmon", "gpu", "gpu-log", "gpu-metrics", "gpu-samples",
        "gpu_log", "gpu_metrics", "gpu_samples", "gpu_stats", "gpu_usage", "gpu_util", "gpulog", "gpus",
        "monitor", "nvidia", "nvidia-smi", "nvidia_smi", "nvidiasmi", "nvsmi", "power", "rocm-smi",
        "rocm_smi", "sampler", "samples", "smi", "usage", "util", "utilization",
    }
)  # fmt: skip
"""Stems that say what a file holds, not whose it is."""
_SHOWN = 4


def machine_of(name: str) -> str:
    """The stem of a file, or its nearest telling folder when any machine may have a file of that name."""
    folders = [part for part in PurePosixPath(name).parts[:-1] if part not in ("/", ".", "..")]
    stems = [*folders, stem_of(name)]
    telling = [stem for stem in stems if stem and stem.lower() not in GENERIC | TOOLS]
    return telling[-1] if telling else stems[-1]


def keep_apart(
    con: duckdb.DuckDBPyConnection, parts: Path, batch: Batch, name: str, choices: Choices, notes: list[str]
) -> list[str]:
    """Rename the GPUs of a file without hosts when its samples cannot be those of the stored GPUs.

    They cannot when a stored sample of the same moment has other values, or when both were sampled in the
    same time at moments of which none is in common. Returns the stored GPUs that had the name.
    """
    place = machine_of(name)
    ids = [] if choices.host else _nameless(batch, place)
    if not ids or not batch.gpu_parts:
        return []
    n, renamed = 1, {gpu: gpu for gpu in ids}
    while _another(con, parts, batch.gpu_parts, renamed):
        n += 1
        renamed = {gpu: f"{place}~{n}{gpu[len(place) :]}" for gpu in ids}
    if n == 1:
        return []
    _rename(con, batch, renamed)
    shown = ", ".join(ids[:_SHOWN]) + (" …" if len(ids) > _SHOWN else "")
    notes.append(
        f"The file names no host, and its samples are not those stored for {shown} at the same time: they "
        f"are kept as another machine, {place}~{n}. If it is another, load each file with its host; if it is "
        "the same machine, undo one of the two files."
    )
    return ids


def _nameless(batch: Batch, place: str) -> list[str]:
    gpus = batch.tables.get("gpus")
    if gpus is None or set(batch.tables) != {"gpus"}:
        return []
    for column in ("host", "uuid"):
        if column in gpus:
            gpus = gpus[gpus[column].isna()]
    return [str(gpu) for gpu in gpus["gpu_id"] if str(gpu).startswith(f"{place}:")]


def _clash(con: duckdb.DuckDBPyConnection, fresh: Sequence[Path]) -> str:
    """SQL of whether a fresh sample i and a stored one s differ in a measure of the fresh files."""
    has = {str(row[0]) for row in con.execute(f"DESCRIBE SELECT * FROM {samples_sql(fresh)}").fetchall()}
    kinds = types("gpu_samples")
    return " OR ".join(differs(m, kinds[m]) for m in MEASURES if m in has) or "false"


def _another(
    con: duckdb.DuckDBPyConnection, parts: Path, fresh: Sequence[Path], renamed: Mapping[str, str]
) -> bool:
    names = list(renamed.values())
    old = con.execute(
        "SELECT file FROM gpu_parts WHERE list_has_any(gpu_ids, ?::VARCHAR[]) ORDER BY file", [names]
    ).fetchall()
    if not old:
        return False
    clash = _clash(con, fresh)
    row = first(
        con,
        f"""
        WITH pairs AS (SELECT unnest($old::VARCHAR[]) AS gpu_id, unnest($new::VARCHAR[]) AS name),
        f AS (
            SELECT p.name AS gpu_id, * EXCLUDE (gpu_id, name)
            FROM {samples_sql(fresh)} JOIN pairs p USING (gpu_id)
        ),
        o AS (
            SELECT * FROM {samples_sql([parts / file for (file,) in old])}
            WHERE gpu_id IN (SELECT name FROM pairs)
        ),
        span AS (
            SELECT gpu_id, greatest(a.low, b.low) AS low, least(a.high, b.high) AS high
            FROM (SELECT gpu_id, min(ts) AS low, max(ts) AS high FROM f GROUP BY gpu_id) a
            JOIN (SELECT gpu_id, min(ts) AS low, max(ts) AS high FROM o GROUP BY gpu_id) b USING (gpu_id)
        ),
        met AS (SELECT count(*) AS n, count(*) FILTER (WHERE {clash}) AS clashes
            FROM f i JOIN o s USING (gpu_id, ts))
        SELECT n, clashes,
            (SELECT count(*) FROM f JOIN span USING (gpu_id) WHERE ts BETWEEN low AND high),
            (SELECT count(*) FROM o JOIN span USING (gpu_id) WHERE ts BETWEEN low AND high)
        FROM met
        """,
        {"old": list(renamed), "new": names},
    )
    if row is None:
        raise RuntimeError("an aggregate returned no row")
    met, clashes, ours, theirs = row
    return bool(clashes) or (not met and min(ours, theirs) > 1)


def _rename(con: duckdb.DuckDBPyConnection, batch: Batch, renamed: Mapping[str, str]) -> None:
    gpus = batch.tables["gpus"]
    batch.tables["gpus"] = gpus.assign(gpu_id=gpus["gpu_id"].map(lambda g: renamed.get(str(g), str(g))))
    written = []
    for path in batch.gpu_parts:
        target = path.with_name(f"apart-{path.name}")
        con.execute(
            "COPY (WITH pairs AS (SELECT unnest($old::VARCHAR[]) AS gpu_id, unnest($new::VARCHAR[]) AS name) "
            "SELECT coalesce(p.name, gpu_id) AS gpu_id, * EXCLUDE (gpu_id, name) "
            f"FROM {samples_sql([path])} LEFT JOIN pairs p USING (gpu_id)) "
            f"TO {_text(target)} (FORMAT parquet)",
            {"old": list(renamed), "new": list(renamed.values())},
        )
        written.append(target)
    batch.gpu_parts = written


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
