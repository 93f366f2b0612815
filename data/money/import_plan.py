"""What an import of a price list would do: prices, rows set aside with their reasons, and what is odd."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from data import catalogue_types as t
from data.errors import UserError
from data.money import import_checks as checks
from data.money.currency import currency_code
from data.money.import_checks import SetAside, aside
from data.money.import_names import of_model, platform_of
from data.money.import_rows import SLURM, Offer, PriceList, read_list
from data.money.price_entry import slug

if TYPE_CHECKING:
    from data.catalogue import Catalogue

NO_GPU = "machines without a GPU"
FAR = 3.0
_NO_PLATFORM = ("unknown_gpu", "form_factor", "no_such_form")
_ID_LENGTH = 110


@dataclass(frozen=True)
class ImportChoices:
    """What a person says about the file: the provider, GPU names of their own, kind of a slurm list."""

    provider: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    currency: str = t.USD
    kind: str = "on_demand"


@dataclass(frozen=True)
class ImportPlan:
    """`rows` = `priced` + set aside + ignored. `prices` are rows of a price decision, one an offer.

    `dropped_spot`: spot prices that are none, of rows whose list price counts. `findings`: (code, rows,
    sentence). `unknown`: GPU names that a person may map, with their rows; `reasons`: what each lacks;
    `offered`: ids of the platforms of its model, of which a form factor would pick one.
    """

    file: str
    format: str
    sha256: str
    rows: int
    priced: int
    prices: tuple[dict[str, Any], ...]
    set_aside: tuple[SetAside, ...]
    ignored: Mapping[str, int]
    dropped_spot: tuple[SetAside, ...]
    findings: tuple[tuple[str, int, str], ...]
    unknown: Mapping[str, int]
    reasons: Mapping[str, str]
    offered: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Part:
    """One price of one row, a GPU-hour."""

    offer: Offer
    platform_id: str
    kind: str
    value: float

    @property
    def slot(self) -> tuple[str, str, str]:
        return self.platform_id, self.kind, self.offer.instance


def plan_import(data: bytes, name: str, book: "Catalogue", choices: ImportChoices) -> ImportPlan:
    """Read a price list and say what would become of every row; nothing is stored."""
    found = read_list(data, name)
    for platform in choices.names.values():
        if book.platform(platform) is None:
            raise UserError(
                f"'{platform}' is no platform of the catalogue", "GPU names", "Use a platform id."
            )
    whole, rejected = _whole_offers(found)
    parts, dropped, odd = _parts(whole, rejected, found.format == SLURM, book, choices)
    prices = _prices(parts, book, choices, odd)
    priced = {part.offer.line for part in parts}
    ignored = Counter(NO_GPU for o in found.offers if _ignored(o, found))
    if len(priced) + len(rejected) + sum(ignored.values()) != found.rows:
        raise RuntimeError(f"{name}: {found.rows} rows do not reconcile")
    nameless = [row for row in rejected.values() if row.code in _NO_PLATFORM]
    unknown = Counter(row.gpu for row in nameless)
    told = sorted(nameless, key=lambda row: (row.code != "form_factor", row.line))
    return ImportPlan(
        file=name,
        format=found.format,
        sha256=hashlib.sha256(data).hexdigest(),
        rows=found.rows,
        priced=len(priced),
        prices=tuple(prices),
        set_aside=tuple(rejected[line] for line in sorted(rejected)),
        ignored=dict(ignored),
        dropped_spot=tuple(dropped),
        findings=tuple(checks.said(odd)),
        unknown=dict(unknown.most_common()),
        reasons={row.gpu: row.why for row in reversed(told)},
        offered={gpu: tuple(p.platform_id for p in of_model(gpu, book)) for gpu in unknown},
    )


def _ignored(offer: Offer, found: PriceList) -> bool:
    return found.format != SLURM and checks.has_no_gpu(offer)


def _whole_offers(found: PriceList) -> tuple[list[Offer], dict[int, SetAside]]:
    """Offers of whole GPUs at some price, and the other rows by line."""
    rejected = {
        line: SetAside(line, "ragged", checks.TRAPS["ragged"], "", "", text) for line, text in found.ragged
    }
    whole = []
    for offer in found.offers:
        if _ignored(offer, found):
            continue
        trap = checks.shape_trap(offer, found.format == SLURM)
        if trap:
            rejected[offer.line] = aside(offer, trap)
        else:
            whole.append(offer)
    return whole, rejected


def _parts(
    whole: Sequence[Offer],
    rejected: dict[int, SetAside],
    per_gpu_list: bool,
    book: "Catalogue",
    choices: ImportChoices,
) -> tuple[list[_Part], list[SetAside], Counter[str]]:
    """Prices a GPU-hour of the rows that hold one; fills `rejected` with the others."""
    floor, ones = checks.floors(whole)
    spot, odd, dropped, out = checks.spot_traps(whole), Counter[str](), [], []
    odd["floor_one"] = ones
    for offer in whole:
        named = platform_of(offer, book, choices.names)
        if named.platform_id is None:
            rejected[offer.line] = aside(offer, named.code, named.why)
            continue
        fits, note = checks.memory_check(offer, named.platform_id, book)
        trap = "floor_price" if offer.line in floor else "" if fits else "memory_mismatch"
        values = _values(offer, spot, choices.kind)
        if not trap and not values:
            trap = spot.get(offer.line, "price_zero")
        if trap:
            rejected[offer.line] = aside(offer, trap)
            continue
        if offer.line in spot:
            dropped.append(aside(offer, spot[offer.line]))
        odd.update([note] if note else [])
        odd["per_instance"] += (offer.count or 1) > 1
        odd["spot_only"] += all(kind == "spot" for kind, _ in values) and offer.line not in spot
        odd["info_unread"] += offer.unread_info
        odd["gpu_alone"] += per_gpu_list
        out += [_Part(offer, named.platform_id, kind, value) for kind, value in values]
    return out, dropped, odd


def _values(offer: Offer, spot: Mapping[int, str], kind: str) -> list[tuple[str, float]]:
    count = offer.count or 1
    out = []
    if offer.price is not None and offer.price > 0:
        out.append((kind, round(offer.price / count, 6)))
    if offer.spot is not None and offer.spot > 0 and offer.line not in spot:
        out.append(("spot", round(offer.spot / count, 6)))
    return out


def _prices(
    parts: Sequence[_Part], book: "Catalogue", choices: ImportChoices, odd: Counter[str]
) -> list[dict[str, Any]]:
    """One price an offer: rows that differ in their region alone are the same offer."""
    offers: dict[tuple[tuple[str, str, str], float], list[_Part]] = {}
    for part in parts:
        offers.setdefault((part.slot, part.value), []).append(part)
    values = Counter(slot for slot, _ in offers)
    lines = {kind: len({p.offer.line for p in parts if p.kind == kind}) for kind in {p.kind for p in parts}}
    first = {kind: sum(1 for (slot, _) in offers if slot[1] == kind) for kind in lines}
    odd["one_offer_many_rows"] = sum(max(0, n - first[kind]) for kind, n in lines.items())
    out = []
    for (slot, value), same in offers.items():
        regions = sorted({p.offer.region for p in same if p.offer.region})
        out.append(_price(slot, value, same[0].offer, regions, values[slot] > 1, book, choices))
        odd["far_from_book"] += _is_far(slot, value, book) and choices.currency == t.USD
    return _named_apart(out)


def _named_apart(prices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An id of its own for every price: offers that only cores or disks tell apart get numbers, the lowest
    price none.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for price in prices:
        groups.setdefault(price["price_id"], []).append(price)
    taken = set(groups)
    for name, same in groups.items():
        number = 1
        for price in sorted(same, key=lambda one: one["value"])[1:]:
            while (apart := f"{name}-{(number := number + 1)}") in taken:
                continue
            price["price_id"] = apart
            taken.add(apart)
    return prices


def _price(
    slot: tuple[str, str, str],
    value: float,
    offer: Offer,
    regions: Sequence[str],
    several: bool,
    book: "Catalogue",
    choices: ImportChoices,
) -> dict[str, Any]:
    platform_id, kind, instance = slot
    known = book.platform(platform_id)
    per = "chip-hour" if known is not None and known.kind == "tpu" else "GPU-hour"
    code = currency_code(choices.currency)
    name = ["import", choices.provider, platform_id, kind.replace("_", "-"), instance]
    name += [regions[0]] if several and regions else []
    count = f"{offer.count:g}x" if offer.count else ""
    return {
        "price_id": _short(slug("-".join(filter(None, name)))),
        "platform_id": platform_id,
        "kind": kind,
        "tier": "",
        "provider": choices.provider,
        "region": regions[0] if len(regions) == 1 else f"{len(regions)} regions" if regions else "",
        "value": value,
        "unit": f"{code} per {per}",
        "currency": code,
        "note": " ".join(filter(None, (count, instance))),
    }


def _short(name: str) -> str:
    if len(name) <= _ID_LENGTH:
        return name
    return f"{name[: _ID_LENGTH - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _is_far(slot: tuple[str, str, str], value: float, book: "Catalogue") -> bool:
    platform_id, kind, _ = slot
    known = [book.usd(q) for per in t.RENT_UNITS for q in book.quotes(platform_id, kind, per)]
    quotes = [q for q in known if q is not None]
    return bool(quotes) and not min(quotes) / FAR <= value <= max(quotes) * FAR
