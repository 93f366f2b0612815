"""One name for each checkpoint: '<run>@<step>', with the attempt only where two attempts hold that step."""

import re

import duckdb
import pandas as pd

from data.readers.base import Batch
from data.sql import first

_NAME = re.compile(r"(?P<run>.+)@(?:(?P<attempt>\d+)\.)?(?P<step>\d+)")


def name_checkpoints(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """Rename the checkpoints of a batch whose run and attempt keys are final; every evaluated one gets a row.

    Identifiers of evaluations that begin with the name of their checkpoint follow it, also in `eval_tasks`.
    """
    evals = batch.tables.get("evals")
    listed = batch.tables.get("checkpoints")
    if evals is None and listed is None:
        return
    if evals is not None:
        evals = _runs_from_names(con, evals, batch)
    names = _Names(con)
    if listed is not None:
        listed = listed.assign(checkpoint=names.of(listed))
    if evals is not None:
        old = evals["checkpoint"].astype(object)
        evals = evals.assign(checkpoint=names.of(evals))
        _rename_evals(batch, evals, old)
    batch.tables["checkpoints"] = _all_checkpoints(listed, evals)


class _Names:
    """Names given in one upload: the first attempt that holds a step gets the short one."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._owner: dict[str, int | None] = {}

    def of(self, frame: pd.DataFrame) -> list[str]:
        """Name of the checkpoint of each row."""
        cells = [_column(frame, c) for c in ("run", "attempt", "step", "checkpoint")]
        return [self._name(*row) for row in zip(*cells, strict=True)]

    def _name(self, run: str | None, attempt: int | None, step: int | None, given: str) -> str:
        if run is None or step is None:
            return given
        short = f"{run}@{int(step)}"
        if attempt is None:
            return short
        if short not in self._owner:
            found = first(self._con, "SELECT attempt FROM checkpoints WHERE checkpoint = ?", [short])
            self._owner[short] = int(found[0]) if found and found[0] is not None else int(attempt)
        return short if self._owner[short] == int(attempt) else f"{run}@{int(attempt)}.{int(step)}"


def _runs_from_names(con: duckdb.DuckDBPyConnection, evals: pd.DataFrame, batch: Batch) -> pd.DataFrame:
    """Fill run, attempt and step of rows that only name a checkpoint such as 'run@100' of a known run."""
    known = {name for (name,) in con.execute("SELECT DISTINCT run FROM run_sources").fetchall()}
    if "runs" in batch.tables:
        known |= set(batch.tables["runs"]["run"].dropna())
    cells: dict[str, list[object]] = {c: _column(evals, c) for c in ("run", "attempt", "step")}
    for row, name in enumerate(_column(evals, "checkpoint")):
        match = _NAME.fullmatch(str(name))
        if match and cells["run"][row] is None and match["run"] in known:
            cells["run"][row] = match["run"]
            cells["step"][row] = int(match["step"])
            cells["attempt"][row] = int(match["attempt"]) if match["attempt"] else cells["attempt"][row]
    return evals.assign(
        run=pd.Series(cells["run"], index=evals.index, dtype=object),
        attempt=pd.Series(cells["attempt"], index=evals.index).astype("Int64"),
        step=pd.Series(cells["step"], index=evals.index).astype("Int64"),
    )


def _rename_evals(batch: Batch, evals: pd.DataFrame, old: "pd.Series[str]") -> None:
    renamed = {
        eval_id: new + eval_id[len(before) :]
        for eval_id, before, new in zip(evals["eval_id"], old, evals["checkpoint"], strict=True)
        if before != new and str(eval_id).startswith(str(before))
    }
    batch.tables["evals"] = evals.assign(eval_id=evals["eval_id"].map(lambda i: renamed.get(i, i)))
    tasks = batch.tables.get("eval_tasks")
    if renamed and tasks is not None:
        batch.tables["eval_tasks"] = tasks.assign(eval_id=tasks["eval_id"].map(lambda i: renamed.get(i, i)))


def _all_checkpoints(listed: pd.DataFrame | None, evals: pd.DataFrame | None) -> pd.DataFrame:
    frames = [] if listed is None else [listed]
    if evals is not None:
        frames.append(pd.DataFrame({c: _column(evals, c) for c in ("checkpoint", "run", "attempt", "step")}))
    rows = [frame.astype(object).to_dict("records") for frame in frames]
    merged: dict[str, dict[str, object]] = {}
    for row in (r for chunk in rows for r in chunk):
        slot = merged.setdefault(str(row["checkpoint"]), {})
        slot |= {str(k): v for k, v in row.items() if not pd.isna(v) and slot.get(str(k)) is None}
    out = pd.DataFrame(list(merged.values()))
    for column in ("attempt", "step"):
        if column in out:
            out[column] = pd.to_numeric(out[column]).astype("Int64")
    return out


def _column(frame: pd.DataFrame, name: str) -> list[object]:
    if name not in frame:
        return [None] * len(frame)
    return [None if pd.isna(v) else v for v in frame[name].tolist()]
