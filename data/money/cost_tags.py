"""Runs and campaigns that the tags of an invoice name."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache

import duckdb
import pandas as pd

from data.readers.base import Batch

KEYS = {
    "run": ("ipd_run", "run", "run_id", "run_name"),
    "campaign": ("ipd_campaign", "campaign", "campaign_id", "campaign_name"),
}
"""Column of `costs` -> tag keys that name it, the surest first; case, dashes and prefixes do not count."""
_SHOWN = 5


MORE_KEYS = {
    "team": ("ipd_team", "team", "owner", "team_name", "cost_center"),
    "job": ("slurm_job_id", "slurm_jobid", "job_id", "jobid"),
    "host": ("hostname", "host", "node", "node_name", "nodename", "name"),
}
"""What else a tag may say of a charge: who answers for it, which job or machine it was."""


@lru_cache(maxsize=1 << 12)
def named_in(tags: str | None) -> dict[str, str]:
    """Run, campaign, team, job and host that the tags of a charge name; only those that they name."""
    return _named(tags, KEYS | MORE_KEYS) if tags else {}


def tagged(costs: pd.DataFrame) -> pd.DataFrame:
    """The rows with `run` and `campaign` filled from their tags where they have none."""
    if "tags" not in costs or costs["tags"].isna().all():
        return costs
    found = {str(text): _named(str(text), KEYS) for text in costs["tags"].dropna().unique()}
    for column in KEYS:
        told = costs["tags"].map(lambda t, c=column: None if pd.isna(t) else found[str(t)].get(c))
        told = told.astype(object).where(told.notna(), None)
        if told.notna().any():
            own = costs[column].astype(object) if column in costs else pd.Series(None, costs.index, object)
            costs = costs.assign(**{column: own.where(own.notna(), told)})
    return costs


def book_by_tags(con: duckdb.DuckDBPyConnection, batch: Batch) -> list[str]:
    """Fill the cost rows of a batch from their tags; returns what to say of it.

    A name that no run has yet stays with the row: it counts once a run of that name is loaded.
    """
    costs = batch.tables.get("costs")
    if costs is None or "tags" not in costs:
        return []
    before = costs["run"].notna() if "run" in costs else pd.Series(False, costs.index)
    costs = batch.tables["costs"] = tagged(costs)
    if "run" not in costs:
        return []
    named = costs[costs["run"].notna() & ~before]
    names = named.drop_duplicates(["line", "run"])["run"] if "line" in named else named["run"]
    names = names.astype(str).value_counts()
    stored = {str(run) for (run,) in con.execute("SELECT run FROM runs").fetchall()}
    ours, later = names[names.index.isin(stored)], names[~names.index.isin(stored)]
    notes = []
    if len(ours):
        notes.append(f"By their tags {_lines(int(ours.sum()))} booked to {_list(ours)}.")
    if len(later):
        notes.append(
            f"By their tags {_lines(int(later.sum()))} of {_list(later)}, not loaded yet: "
            "the cost counts once a run of that name is there."
        )
    return notes


def _named(text: str, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """What `wanted` asks for of one tags cell (JSON object, or list of objects with key and value)."""
    try:
        pairs = {_folded(key): value for key, value in _pairs(json.loads(text))}
    except ValueError:
        return {}
    found = {}
    for column, keys in wanted.items():
        value = next((text for key in keys if (text := _text(pairs.get(key)))), None)
        if value:
            found[column] = value
    return found


def _text(value: object) -> str:
    """A tag's value as text: numbers and truth values as JSON writes them, "" for lists, objects and null."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return value.strip() if isinstance(value, str) else ""


def _pairs(tags: object) -> Iterator[tuple[str, object]]:
    if isinstance(tags, dict):
        yield from tags.items()
    elif isinstance(tags, list):
        for one in tags:
            if isinstance(one, dict):
                lower = {str(key).casefold(): value for key, value in one.items()}
                yield str(lower.get("key", "")), lower.get("value", "")


def _folded(key: str) -> str:
    return str(key).replace(":", "/").rpartition("/")[2].replace("-", "_").casefold()


def _lines(n: int) -> str:
    return "1 line is" if n == 1 else f"{n} lines are"


def _list(names: "pd.Series[int]") -> str:
    shown = sorted(str(name) for name in names.index)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{'run' if len(shown) == 1 else 'runs'} {', '.join(shown[:_SHOWN])}{more}"
