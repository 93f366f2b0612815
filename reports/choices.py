"""What a person has decided about a file, checked on its way in from a page or the command line."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from data.errors import UserError
from data.parse.timezones import zone_of
from data.readers.base import Choices

_COUNTS = frozenset({"gpus", "gpus_train", "gpus_rollout"})
_NAMES = frozenset(f.name for f in fields(Choices))


class ChoiceError(UserError):
    """A choice about a file is not one of those that exist."""


def choices_from(raw: Mapping[str, Any]) -> Choices:
    """Return checked choices; ChoiceError names the first that is wrong. Empty and None mean: not decided."""
    unknown = sorted(set(raw) - _NAMES)
    if unknown:
        raise ChoiceError(
            f"'{unknown[0]}' is no choice about a file", unknown[0], f"Use {', '.join(sorted(_NAMES))}."
        )
    checked = {name: _check(name, value) for name, value in raw.items() if value not in (None, "")}
    return Choices(**checked)


def _check(name: str, value: Any) -> Any:
    if name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ChoiceError(f"'{value}' is no number of GPUs", name, "Give a whole number from 1 up.")
        return value
    if name == "step":
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ChoiceError(f"'{value}' is no step", name, "Give the step as a whole number from 0 up.")
        return value
    if name == "synthetic":
        return bool(value)
    if name == "columns":
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise ChoiceError("A column mapping names columns", name, "Give column -> field, both as text.")
        return dict(value)
    if not isinstance(value, str):
        raise ChoiceError(f"'{value}' is no text", name, "Give it as text.")
    if name == "timezone":
        zone_of(value)
    return value.strip()
