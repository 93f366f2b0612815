"""What a framework's raw metric keys mean: one table, data/schema/keymap.csv, read once."""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from data.errors import CatalogueError

_PATH = Path(__file__).parents[1] / "schema" / "keymap.csv"
_EVAL = re.compile(
    r"^val-core/(?P<benchmark>.+)/(?P<metric>[^/]+)/"
    r"(?:mean(?:@|_at_)(?P<k>\d+)|(?P<how>maj|best)(?:@|_at_)(?P<k2>\d+)/mean)$"
)
_OLD_EVAL = re.compile(r"^val/test_score/(?P<benchmark>.+)$")
_MODES = ("sync", "one_step_off", "async")


@dataclass(frozen=True)
class KeyRule:
    """One row of the key map.

    `field`: column of `steps` (or a helper of the reader); `phase` and `kind`: row of `step_phases`;
    `nested`: the timer lies inside another one and is never added.
    """

    framework: str
    mode: str
    raw_key: str
    field: str
    unit: str
    basis: str
    phase: str
    kind: str
    nested: bool
    meaning: str


@dataclass(frozen=True)
class EvalKey:
    """An evaluation metric taken apart: `k` is None where the key does not name it."""

    benchmark: str
    metric: str
    k: int | None


@cache
def load_keymap() -> tuple[KeyRule, ...]:
    """All rows in file order; raises CatalogueError for a row without a meaning or with an unknown mode."""
    rules = []
    with _PATH.open(encoding="utf-8", newline="") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=2):
            where = f"data/schema/keymap.csv, line {number}"
            if not row["meaning"] or row["nested"] not in ("true", "false"):
                raise CatalogueError("A key without a meaning", where, "Say what the key measures.")
            if row["mode"] and row["mode"] not in _MODES:
                raise CatalogueError(f"Unknown mode {row['mode']!r}", where, f"Use one of {_MODES}.")
            texts = {name: text for name, text in row.items() if name != "nested"}
            rules.append(KeyRule(nested=row["nested"] == "true", **texts))
    return tuple(rules)


@cache
def rules_for(framework: str, mode: str = "") -> dict[str, KeyRule]:
    """Exact raw key -> rule; a row for `mode` wins over the row for every mode. Patterns are left out."""
    chosen: dict[str, KeyRule] = {}
    for rule in load_keymap():
        if rule.framework != framework or "{" in rule.raw_key or rule.mode not in ("", mode):
            continue
        if rule.mode or rule.raw_key not in chosen:
            chosen[rule.raw_key] = rule
    return chosen


@cache
def _patterns(framework: str) -> tuple[tuple[re.Pattern[str], KeyRule], ...]:
    out = []
    for rule in load_keymap():
        if rule.framework == framework and "{" in rule.raw_key:
            parts = re.split(r"\{[a-z]+\}", rule.raw_key)
            out.append((re.compile("^" + "(.+)".join(map(re.escape, parts)) + "$"), rule))
    return tuple(out)


def find_rule(framework: str, key: str, mode: str = "") -> KeyRule | None:
    """The rule for one raw key, patterns included (`@` may be written `_at_`); None when it is not known."""
    exact = rules_for(framework, mode).get(key)
    if exact is not None:
        return exact
    plain = key.replace("_at_", "@")
    return next((rule for pattern, rule in _patterns(framework) if pattern.match(plain)), None)


def parse_eval_key(key: str) -> EvalKey | None:
    """Take `val-core/<benchmark>/<metric>/mean@k` apart; the benchmark may hold slashes.

    `maj@k` and `best@k` become part of the metric's name: they answer another question than a mean.
    """
    match = _EVAL.match(key)
    if match:
        how = f"_{match['how']}" if match["how"] else ""
        return EvalKey(match["benchmark"], match["metric"] + how, int(match["k"] or match["k2"]))
    old = _OLD_EVAL.match(key)
    return EvalKey(old["benchmark"], "test_score", None) if old else None
