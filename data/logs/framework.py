"""Which framework wrote a set of metric keys."""

from collections.abc import Iterable
from functools import cache, lru_cache

from data.logs.keymap import find_rule, load_keymap, plain_key, rules_for
from data.logs.verl import verl_share

NEEDED = 1.0
_LOOSE, _PATTERN, _GROUP = 0.3, 0.4, 0.5
_GROUPS = frozenset({"eval", "train", "time", "reward", "rollout", "progress", "validation"})
_LONG = 16
_REMEMBERED = 1 << 14
_COMMON = frozenset(
    {"step", "_step", "_runtime", "_timestamp", "time", "timestamp", "epoch", "global_step",
     "train/global_step", "train/epoch", "loss", "train/loss", "progress"}
)  # fmt: skip


@cache
def frameworks() -> tuple[str, ...]:
    """Frameworks of the key map in file order; `tinker-sft` holds the keys of supervised Tinker runs."""
    names = dict.fromkeys(rule.framework for rule in load_keymap())
    return tuple(name for name in names if name != "wandb")


def framework_of(keys: Iterable[str]) -> tuple[str | None, float]:
    """The framework whose keys these most likely are and the share (0..1) of keys that it knows.

    A key counts 1 divided by the frameworks that know it; plain words (`reward`), common groups (`eval/…`)
    and keys that only fit a pattern count less. Below `NEEDED` in all nobody can say: (None, 0).
    """
    names = [key for key in dict.fromkeys(keys) if key not in _COMMON]
    scores: dict[str, float] = {}
    hits: dict[str, int] = {}
    for key in names:
        known = _known_by(key)
        for name in known:
            scores[name] = scores.get(name, 0.0) + _weight(name, key) / len(known)
            hits[name] = hits.get(name, 0) + 1
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is None or scores[best] < NEEDED:
        share = verl_share([key for key in names if not set(_known_by(key)) - {"verl"}])
        return ("verl", share) if share > 0 else (None, 0.0)
    if best == "verl":
        return best, max(verl_share(names), hits[best] / len(names))
    return best, hits[best] / len(names)


@lru_cache(maxsize=_REMEMBERED)
def _known_by(key: str) -> tuple[str, ...]:
    return tuple(name for name in frameworks() if find_rule(name, key) is not None)


@lru_cache(maxsize=_REMEMBERED)
def _weight(framework: str, key: str) -> float:
    plain = plain_key(framework, key)
    exact = rules_for(framework)
    if key not in exact and plain not in exact:
        return _PATTERN
    if plain.partition("/")[0] in _GROUPS and "/" in plain:
        return _GROUP
    return 1.0 if "/" in plain or " " in plain or len(plain) >= _LONG else _LOOSE
