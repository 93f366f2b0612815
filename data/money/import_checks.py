"""Known traps of price lists, each a named check with a sentence: what is no price is set aside."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.money.cost_words import instance_type_in
from data.money.import_rows import Offer

if TYPE_CHECKING:
    from data.catalogue import Catalogue

TRAPS = {
    "ragged": "The row has more or fewer cells than the header.",
    "host_without_gpu": "The row is a GPU machine without its GPUs: the price of the host alone.",
    "gpu_without_host": "The row is a GPU without its host: the price of the card alone.",
    "no_gpu_named": "The row names no GPU, so its price belongs to no platform.",
    "count_blank": "The row names a GPU but not how many.",
    "count_fraction": "The row is a fraction of a GPU.",
    "no_price": "The row has neither a price nor a spot price.",
    "price_zero": "A price of 0 is not a price.",
    "floor_price": "Exactly 1.00 a GPU for different GPUs is a floor, not what anybody pays.",
    "spot_equals_list": "The spot price equals the list price: not a market signal.",
    "spot_constant_ratio": "Every spot price is the same fraction of its list price: a formula.",
    "spot_above_list": "The spot price is above the list price.",
    "memory_mismatch": "The memory in the row is not that of the GPU it names.",
    "unknown_gpu": "The catalogue knows no platform of this name.",
    "form_factor": "The row does not say which form factor of the GPU it is.",
    "no_such_form": "The row names a form factor of the GPU that no platform stands for.",
    "a100_40gb": "An A100 with 40 GB is not the A100 80GB.",
    "tpu_slice": "The row is a slice of several chips.",
}
"""Why a row, or its spot price, is set aside."""
SAID = {
    "per_instance": "Rows that price a whole instance, divided by its number of GPUs: {n}.",
    "one_offer_many_rows": "Rows that repeat an offer in another region (one price an offer): {n}.",
    "memory_gb": "Rows with the memory in GB, not in MiB as the column says: {n}.",
    "memory_node": "Rows with the memory of the whole node, not of one GPU: {n}.",
    "mi325x_288": "Rows that give the MI325X 288 GB, where its maker says 256 GB: {n}.",
    "info_unread": "Rows whose description of the GPU could not be read, memory not checked: {n}.",
    "spot_only": "Rows with a spot price and no list price: {n}.",
    "gpu_alone": "Prices of the GPU alone (the list bills CPU and memory on top): {n}.",
    "far_from_book": "Prices more than 3 times off every quote in the book, look at them: {n}.",
    "floor_one": "Prices of exactly 1.00 a GPU, perhaps a floor: {n}.",
}
"""What is worth knowing about the rows that became prices."""
_SAME, _RATIO_WIDTH, _RATIO_ROWS = 1e-9, 0.005, 3
_NEAR = 0.08
"""GB against GiB differ by 7.4 %."""


@dataclass(frozen=True)
class SetAside:
    """A row that is no price, or whose spot price is none: its line, the trap, and the sentence for it."""

    line: int
    code: str
    why: str
    gpu: str
    instance: str
    cells: str


def aside(offer: Offer, code: str, why: str = "") -> SetAside:
    """The row set aside for a trap."""
    return SetAside(offer.line, code, why or TRAPS[code], offer.gpu, offer.instance, offer.cells)


def has_no_gpu(offer: Offer) -> bool:
    """A plain CPU machine: no GPU is named, and its type is none of a GPU machine."""
    return not offer.gpu and instance_type_in(offer.instance) is None


def shape_trap(offer: Offer, per_gpu_list: bool) -> str:
    """The trap that makes a row no offer of whole GPUs; empty when there is none."""
    if not offer.gpu:
        return "no_gpu_named" if per_gpu_list else "host_without_gpu"
    if not offer.instance and not per_gpu_list:
        return "gpu_without_host"
    if offer.count is None or offer.count == 0:
        return "count_blank"
    if offer.count < 1 or offer.count != int(offer.count):
        return "count_fraction"
    if offer.price is None and offer.spot is None:
        return "no_price"
    return "price_zero" if all(p is None or p <= 0 for p in (offer.price, offer.spot)) else ""


def floors(offers: Iterable[Offer]) -> tuple[frozenset[int], int]:
    """Lines at exactly 1.00 a GPU when several models ask that; and how many do when one model does."""
    ones = [o for o in offers if o.price and o.count and abs(o.price / o.count - 1) < _SAME]
    lines = frozenset(o.line for o in ones)
    return (lines, 0) if len({o.gpu for o in ones}) > 1 else (frozenset(), len(lines))


def spot_traps(offers: Sequence[Offer]) -> Mapping[int, str]:
    """The trap of each spot price that is no market signal, by line."""
    listed = {(o.instance, o.region, o.gpu): o.price for o in offers if o.price}
    pairs = [(o, listed.get((o.instance, o.region, o.gpu))) for o in offers if o.spot is not None]
    out: dict[int, str] = {}
    for offer, price in pairs:
        if offer.spot is not None and price:
            if abs(offer.spot / price - 1) < _SAME:
                out[offer.line] = "spot_equals_list"
            elif offer.spot > price:
                out[offer.line] = "spot_above_list"
    ratios = {price: o.spot / price for o, price in pairs if o.spot and price and o.line not in out}
    values = list(ratios.values())
    if len(values) >= _RATIO_ROWS and max(values) - min(values) <= _RATIO_WIDTH * max(values):
        out |= {o.line: "spot_constant_ratio" for o, _ in pairs if o.line not in out}
    return out


def memory_check(offer: Offer, platform_id: str, book: "Catalogue") -> tuple[bool, str]:
    """Whether the memory fits the platform, and what is odd about the column: unit, node total, MI325X."""
    labels = [f.number for f in book.fact_rows(platform_id, "hbm_gb") if f.number]
    usable = [f.number / 2**30 for f in book.fact_rows(platform_id, "hbm_usable_bytes") if f.number]
    known = [*labels, *usable]
    if offer.memory is None or not known:
        return True, ""
    in_gb = offer.memory < 2048
    size = offer.memory if in_gb else offer.memory / 1024
    odd = "memory_gb" if in_gb and offer.told else ""
    count = offer.count or 1
    if not _near(size, known) and count > 1 and _near(size / count, known):
        size, odd = size / count, "memory_node"
    if platform_id == "mi325x" and abs(size - 288) < 288 * 0.03:
        return True, "mi325x_288"
    return _near(size, known), odd


def _near(size: float, known: Iterable[float]) -> bool:
    return any(abs(size - one) <= _NEAR * one for one in known)


def said(found: Mapping[str, int]) -> list[tuple[str, int, str]]:
    """(code, rows, sentence) of what was found, in the order of `SAID`."""
    return [
        (code, found[code], words.format(n=found[code])) for code, words in SAID.items() if found.get(code)
    ]


def by_trap(rows: Iterable[SetAside]) -> list[tuple[str, int, str]]:
    """(code, rows, sentence) of what was set aside, the most frequent first."""
    return [(code, n, TRAPS[code]) for code, n in Counter(row.code for row in rows).most_common()]
