"""Uploads of a home: what was loaded, what was set aside, and the choices it was read with."""

import json
from typing import Any

import pandas as pd

from data.view import View

_LIST = """
select upload_id, name, format, records, stored, quarantined, ignored, size_bytes, synthetic, uploaded_at,
       receipt->'joins' as joins, coalesce(tied, []) as tied
  from uploads left join (
    select upload_id, list(distinct run order by run) as tied from scheduler_jobs
     where run is not null group by upload_id) using (upload_id)
 order by uploaded_at desc, upload_id
"""
_FILES = """
select u.upload_id, u.name, u.format, u.uploaded_at, u.size_bytes, u.receipt->'joins' as joins
  from uploads u join (
    select upload_id from upload_links where kind = 'run' and name = $run
    union select upload_id from scheduler_jobs where run = $run) l using (upload_id)
 order by u.uploaded_at, u.upload_id
"""
_ONE = "select receipt, choices from uploads where upload_id = ?"
_ASIDE = """
select line, column_name, reason, text from quarantine where upload_id = ?
 order by line, column_name limit ?
"""


def listing(view: View) -> pd.DataFrame:
    """One row an upload, newest first; `joins`: list of {run, attempt, by, confidence, why}; `tied`: runs
    that its scheduler jobs belong to.
    """
    return _joined(view.frame(_LIST))


def files_of(view: View, run: str) -> pd.DataFrame:
    """The uploads a run is made of, oldest first, with files of its jobs; `joins` are those to this run."""
    frame = _joined(view.frame(_FILES, {"run": run}))
    mine = [[j for j in joins if j["run"] == run] for joins in frame["joins"]]
    return frame.assign(joins=pd.Series(mine, index=frame.index, dtype=object))


def _joined(frame: pd.DataFrame) -> pd.DataFrame:
    lists = [json.loads(text) if isinstance(text, str) else [] for text in frame["joins"]]
    return frame.assign(joins=pd.Series(lists, index=frame.index, dtype=object))


def receipt_and_choices(view: View, upload_id: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The stored receipt and the choices it was read with; None when there is no such upload."""
    rows = view.rows(_ONE, [upload_id])
    if not rows:
        return None
    receipt, choices = rows[0]
    return json.loads(receipt), json.loads(choices or "{}")


def set_aside(view: View, upload_id: str, limit: int) -> pd.DataFrame:
    """Quarantined lines and cells of an upload: line, column_name (null: the whole record), reason, text."""
    return view.frame(_ASIDE, [upload_id, limit])
