"""Uploads of a home: what was loaded, what was set aside, and the choices it was read with."""

import json
from typing import Any

import pandas as pd

from data.view import View

_LIST = """
select upload_id, name, format, records, stored, quarantined, ignored, size_bytes, synthetic, uploaded_at
  from uploads order by uploaded_at desc, upload_id
"""
_ONE = "select receipt, choices from uploads where upload_id = ?"
_ASIDE = """
select line, column_name, reason, text from quarantine where upload_id = ?
 order by line, column_name limit ?
"""


def listing(view: View) -> pd.DataFrame:
    """One row an upload, newest first."""
    return view.frame(_LIST)


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
