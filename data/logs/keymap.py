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
LONGEST_KEY = 300
"""Longer keys are no metric names, and patterns would take long over them."""
_SEGMENT = frozenset({"dataset", "env", "n", "k", "g", "agent", "trainer"})
"""Placeholders that stand for one part of a key; the others may hold slashes."""
_OUTER = {"trl": "train/", "openrlhf": "train/"}
"""Prefix that a tracker puts before every training key of a framework."""


@dataclass(frozen=True)
class KeyRule:
    """One row of the key map.

    `field`: column of `steps` (or a helper of the reader); `phase` and `kind`: row of `step_phases`;
    `nested`: the timer lies inside another one and is never added. `unit` `percent` and `GiB` are converted.
    `basis`: of a rate, what it is divided by; of a score, the name of its metric; `cumulative` (since the
    start), `interval_mean` (mean over the logged steps), `per_call` (calls of a step add up), `outside_step`.
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
    rules = (rule for rule in load_keymap() if rule.framework == framework and "{" in rule.raw_key)
    return tuple((_pattern(rule.raw_key), rule) for rule in rules)


def _pattern(raw_key: str) -> re.Pattern[str]:
    """Placeholders become named groups; a repeated name is a group of its own."""
    out, seen = [], 0
    for part in re.split(r"(\{[a-z]+\})", raw_key):
        if not part.startswith("{"):
            out.append(re.escape(part))
            continue
        seen += 1
        name = part[1:-1]
        shape = r"\d+" if name == "k" else "[^/]+" if name in _SEGMENT else ".+"
        out.append(f"(?P<{name}_{seen}>{shape})")
    return re.compile("^" + "".join(out) + "$")


def plain_key(framework: str, key: str) -> str:
    """A key as the key map writes it: without the tracker's prefix, and with `eval_` for TRL."""
    outer = _OUTER.get(framework)
    if outer and key.startswith(outer):
        key = key[len(outer) :]
    if framework == "trl" and key.startswith("eval/"):
        key = f"eval_{key[5:]}"
    return key


def find_rule(framework: str, key: str, mode: str = "") -> KeyRule | None:
    """The rule for one raw key, patterns included (`@` may be written `_at_`); None when it is not known."""
    if len(key) > LONGEST_KEY:
        return None
    found = _find(framework, key, mode)
    plain = plain_key(framework, key)
    return _find(framework, plain, mode) if found is None and plain != key else found


def _find(framework: str, key: str, mode: str) -> KeyRule | None:
    exact = rules_for(framework, mode).get(key)
    if exact is not None:
        return exact
    plain = key.replace("_at_", "@") if framework == "verl" else key
    return next((rule for pattern, rule in _patterns(framework) if pattern.match(plain)), None)


def score_key(framework: str, key: str) -> EvalKey | None:
    """Take an evaluation key of any framework apart; the benchmark is the first part where none is named."""
    if framework == "verl":
        return parse_eval_key(key)
    rule = find_rule(framework, key)
    if rule is None or rule.field != "score":
        return None
    plain = plain_key(framework, key)
    match = _pattern(rule.raw_key).match(key) or _pattern(rule.raw_key).match(plain)
    groups = {name.rpartition("_")[0]: text for name, text in match.groupdict().items()} if match else {}
    named = next((groups[name] for name in ("benchmark", "env", "dataset") if name in groups), None)
    first = re.split(r"[/_]", plain)[0]
    return EvalKey(named or first, rule.basis, int(groups["k"]) if "k" in groups else None)


def parse_eval_key(key: str) -> EvalKey | None:
    """Take `val-core/<benchmark>/<metric>/mean@k` apart; the benchmark may hold slashes.

    `maj@k` and `best@k` become part of the metric's name: they answer another question than a mean.
    """
    if len(key) > LONGEST_KEY:
        return None
    match = _EVAL.match(key)
    if match:
        how = f"_{match['how']}" if match["how"] else ""
        return EvalKey(match["benchmark"], match["metric"] + how, int(match["k"] or match["k2"]))
    old = _OLD_EVAL.match(key)
    return EvalKey(old["benchmark"], "test_score", None) if old else None
