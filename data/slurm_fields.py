"""Cells of Slurm's accounting: times, resources, node lists."""

import math
import re

_ELAPSED = re.compile(r"^(?:(?:(\d+)-)?(\d{1,2}):)?(\d{1,2}):(\d{2})(\.\d+)?$")
_RANGE = re.compile(r"^(\d+)-(\d+)$")
_LETTERS = re.compile(r"^([a-z])-([a-z])$|^([A-Z])-([A-Z])$")
MOST_NODES = 100_000


def elapsed_seconds(text: str) -> float | None:
    """Seconds of `[DD-]HH:MM:SS` or `MM:SS.mmm`; None for anything else."""
    match = _ELAPSED.match(text.strip())
    if match is None or (match[1] and match[2] is None):
        return None
    days, hours, minutes, seconds = (int(match[i] or 0) for i in range(1, 5))
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds + float(match[5] or 0)


def gpus_of(text: str) -> tuple[float | None, str | None]:
    """(GPUs, model) of `AllocTRES` or an old `AllocGRES`; (None, None) of a blank cell, 0 GPUs where none is.

    `gres/gpu:mi210=8,gres/gpu=8` names the same eight GPUs twice: the untyped count wins over the typed ones.
    """
    if not text.strip():
        return None, None
    total, typed, models = None, [], []
    for item in text.split(","):
        name, _, amount = item.strip().partition("=")
        if not amount:
            name, amount = _old_gres(name)
        kind, _, model = name.removeprefix("gres/").partition(":")
        number = _number(amount)
        if kind != "gpu" or number is None:
            continue
        if model:
            typed.append(number)
            models.append(model)
        else:
            total = (total or 0.0) + number
    shown = ";".join(dict.fromkeys(models)) or None
    return (total if total is not None else math.fsum(typed)), shown


def _old_gres(item: str) -> tuple[str, str]:
    """`gpu:a100:4` or `gpu:4` -> name and amount."""
    name, _, amount = item.rpartition(":")
    return (name, amount) if name.startswith(("gpu", "gres/gpu")) else (item, "")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def nodes_of(text: str) -> list[str]:
    """Host names of a node list: `n[01-03,07],m5` -> n01, n02, n03, n07, m5;
    `node-[a-c]` -> node-a, node-b, node-c; [] while none is assigned."""
    clean = text.strip()
    if not clean or clean.casefold() in ("none", "none assigned", "unknown", "(null)"):
        return []
    names: list[str] = []
    for part in re.findall(r"[^,\[\]]*(?:\[[^\]]*\][^,\[\]]*)*", clean):
        if part:
            names += _expanded(part)
        if len(names) > MOST_NODES:
            return names[:MOST_NODES]
    return names


def _expanded(part: str) -> list[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inner, _, tail = rest.partition("]")
    out: list[str] = []
    for piece in inner.split(","):
        match, letters = _RANGE.match(piece.strip()), _LETTERS.match(piece.strip())
        if letters is not None:
            first, last = (ord(one) for one in letters.groups() if one)
            numbers = [chr(one) for one in range(first, last + 1)]
        elif match is None:
            numbers = [piece.strip()]
        else:
            low, high = int(match[1]), min(int(match[2]), int(match[1]) + MOST_NODES)
            numbers = [str(n).zfill(len(match[1])) for n in range(low, high + 1)]
        out += [head + number + end for number in numbers for end in _expanded(tail)]
    return out
