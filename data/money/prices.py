"""What people decided about prices: add, override, date, retire, import. Append-only; every version stays."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from data import catalogue_types as t

if TYPE_CHECKING:
    from data.workspace import Decision

SET, RETIRE, IMPORT = "set", "retire", "import"
FIELDS = ("price_id", "platform_id", "kind", "tier", "provider", "region", "value", "unit", "currency")
"""Of the payload of a decision; `as_of`, `source` and `note` may stand once for a whole import."""


def price_versions(
    shipped: Mapping[str, t.Price], decisions: Iterable["Decision"]
) -> dict[str, tuple[t.Price, ...]]:
    """All versions, oldest first, of every price that a person touched; a shipped row is its version 1."""
    out: dict[str, list[t.Price]] = {}
    for one in decisions:
        if one.kind != "price":
            continue
        for told in _entries(one.payload):
            name = str(told["price_id"])
            held = out.setdefault(name, [shipped[name]] if name in shipped else [])
            held.append(_version(told, one, len(held) + 1))
    return {name: tuple(versions) for name, versions in out.items()}


def _entries(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The prices that a decision names: one, or those of an import with what they share."""
    if payload["action"] != IMPORT:
        return [dict(payload)]
    shared = {name: payload.get(name, "") for name in ("as_of", "source", "who", "note")}
    return [{**shared, **price} for price in payload["prices"]]


def _version(told: Mapping[str, Any], one: "Decision", version: int) -> t.Price:
    value = told["value"]
    return t.Price(
        **{name: told[name] for name in FIELDS if name != "value"},
        value=None if value is None else float(value),
        as_of=told["as_of"],
        status="user",
        source=told["source"],
        note=told.get("note", ""),
        version=version,
        decision=one.id,
        at=one.at,
        who=told.get("who", ""),
        retired=told.get("action") == RETIRE,
    )


def in_force(
    shipped: Mapping[str, t.Price], versions: Mapping[str, tuple[t.Price, ...]], day: date, *, dated: bool
) -> dict[str, t.Price]:
    """The version of each price that counts on `day`; a price that is retired or not yet valid is left out.

    From the first day of a person's version on only people's versions count: the newest day wins, and of
    two entries for one day the later. `dated`: shipped rows too count from their own date only, and those
    without a date never.
    """
    out: dict[str, t.Price] = {}
    for name in dict.fromkeys((*shipped, *versions)):
        found = _of_day(shipped.get(name), versions.get(name, ()), day.isoformat(), dated)
        if found is not None:
            out[name] = found
    return out


def _of_day(shipped: t.Price | None, versions: tuple[t.Price, ...], day: str, dated: bool) -> t.Price | None:
    mine = [v for v in versions if v.decision and v.as_of <= day]
    if mine:
        newest = max(mine, key=lambda v: (v.as_of, v.decision))
        return None if newest.retired else newest
    if shipped is None or (dated and not (shipped.from_day and shipped.from_day <= day)):
        return None
    return shipped
