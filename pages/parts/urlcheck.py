"""Values that an address asks for, held against what exists: a bad one is named, never silently replaced."""

from collections.abc import Sequence
from dataclasses import dataclass

KEEP_NAMES = 5


@dataclass(frozen=True)
class UrlNotice:
    """One dropped value: its parameter, and the sentence that names it and says what is shown instead."""

    param: str
    text: str


def quote(names: Sequence[str]) -> str:
    """Join names as 'a', 'b' and 'c'; after five the rest is counted."""
    shown = [f"'{_short(n)}'" for n in names[:KEEP_NAMES]]
    rest = len(names) - len(shown)
    if rest:
        shown.append(f"{rest} more")
    if len(shown) == 1:
        return shown[0]
    return ", ".join(shown[:-1]) + " and " + shown[-1]


def check_many(
    param: str, asked: Sequence[str], known: Sequence[str], noun: str, holder: str = "this home does not hold"
) -> tuple[list[str], UrlNotice | None]:
    """Split `asked` into the values that exist and a notice naming those that do not.

    An empty kept list means that the filter is off, so the notice then says that all are shown.
    """
    wanted = list(dict.fromkeys(v for v in asked if v != ""))
    kept = [v for v in wanted if v in known]
    lost = [v for v in wanted if v not in known]
    if not lost:
        return kept, None
    plural = "s" if len(lost) > 1 else ""
    instead = f"{quote(kept)} only" if kept else f"all {noun}s instead"
    text = f"The address asks for {noun}{plural} {quote(lost)}, which {holder}; showing {instead}."
    return kept, UrlNotice(param, text)


def check_one(
    param: str, asked: Sequence[str], known: Sequence[str], default: str, noun: str, holder: str
) -> tuple[str, UrlNotice | None]:
    """Return the value to show for a single choice and, when the asked one does not exist, a notice."""
    if not asked:
        return default, None
    value = asked[-1]
    if len(set(asked)) > 1:
        text = f"The address gives {noun} {len(asked)} times; showing {quote([value])}."
        kept, notice = check_one(param, [value], known, default, noun, holder)
        return kept, notice or UrlNotice(param, text)
    if value in known:
        return value, None
    what = f"{noun} {quote([value])}" if value else f"an empty {noun}"
    return default, UrlNotice(
        param, f"The address asks for {what}, which {holder}; showing '{default}' instead."
    )


def _short(name: str, limit: int = 80) -> str:
    clean = "".join(c if c.isprintable() else "�" for c in name)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
