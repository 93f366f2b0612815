"""Forecasts that were kept: what was said, when, from which inputs. Appended, never changed or deleted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from data.workspace import Workspace, utc_now


@dataclass(frozen=True)
class KeptForecast:
    """A forecast as made: `made_at` UTC without zone, `params` of the question, `document` its numbers."""

    id: int
    made_at: datetime
    note: str
    params: Mapping[str, Any]
    document: Mapping[str, Any]


def keep(
    workspace: Workspace,
    params: Mapping[str, Any],
    document: Mapping[str, Any],
    note: str = "",
    at: datetime | None = None,
) -> KeptForecast:
    """Append a forecast and return it as stored; ValueError for numbers that JSON does not know."""
    made_at = at or utc_now()
    texts = [json.dumps(dict(one), sort_keys=True, allow_nan=False) for one in (params, document)]
    with workspace.connect() as con:
        cursor = con.execute(
            "INSERT INTO forecasts (made_at, note, params, document) VALUES (?, ?, ?, ?)",
            (made_at.isoformat(), note, *texts),
        )
    return KeptForecast(int(cursor.lastrowid or 0), made_at, note, *(json.loads(text) for text in texts))


def kept(workspace: Workspace, upto: int | None = None) -> tuple[KeptForecast, ...]:
    """All kept forecasts, oldest first; `upto`: those with that id or a lower one."""
    with workspace.reading() as con:
        rows = con.execute(
            "SELECT * FROM forecasts WHERE ? IS NULL OR id <= ? ORDER BY id", (upto, upto)
        ).fetchall()
    return tuple(
        KeptForecast(
            r["id"],
            datetime.fromisoformat(r["made_at"]),
            r["note"],
            json.loads(r["params"]),
            json.loads(r["document"]),
        )
        for r in rows
    )


def newest_id(workspace: Workspace) -> int:
    """Id of the newest kept forecast, 0 when there is none."""
    with workspace.reading() as con:
        (number,) = con.execute("SELECT coalesce(max(id), 0) FROM forecasts").fetchone()
    return int(number)
