"""Which model of the catalogue a path or hub name may mean: a guess to be confirmed, never a fact."""

import csv
import re
from functools import cache
from pathlib import Path

_CATALOG = Path(__file__).parents[1] / "catalog" / "llms.csv"
_TUNED = re.compile(r"[-_](?:instruct|base|chat|it|hf|thinking|bf16|fp8)(?:[-_]\d{4})?$")


@cache
def known_llms() -> tuple[str, ...]:
    """Ids of the catalogue's models in file order; empty when the catalogue is not installed."""
    if not _CATALOG.is_file():
        return ()
    with _CATALOG.open(encoding="utf-8", newline="") as handle:
        rows = csv.reader(handle)
        header = next(rows)
        at = header.index("model_id") if "model_id" in header else 0
        return tuple(row[at] for row in rows if row)


def guess_llm(path: str, known: tuple[str, ...] | None = None) -> str | None:
    """The catalogue id whose name equals the last part of `path` without -Instruct, -Base and the like."""
    name = path.rstrip("/").rsplit("/", 1)[-1].lower().replace("_", "-")
    while True:
        shorter = _TUNED.sub("", name)
        if shorter == name:
            break
        name = shorter
    candidates = known_llms() if known is None else known
    return next((llm for llm in candidates if llm.lower() == name), None)
