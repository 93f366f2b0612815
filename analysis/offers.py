"""Which price of which service fits a run: by method, by model or size class, by GPU; never a neighbour's."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analysis.words import digits3, listing
from data.catalogue_services import STANDARD, TOKEN_KINDS, ServicePrice
from models.metered import service_usd

NAN = float("nan")
NEEDS = {"sft": ("train",), "dpo": ("train",), "rl": ("prefill", "sample", "train")}
_SUPERVISED = {"sft": "sft", "distill": "sft", "dpo": "dpo"}
METERED, RENTED = "metered", "rent of a service's GPUs"


@dataclass(frozen=True)
class Method:
    """How a run was trained: sft, rl, dpo or '' when nobody knows; `basis` says from what."""

    name: str
    basis: str


def method_of(algorithm: str | None, sampled: float) -> Method:
    """By the algorithm's name; without one, a run that sampled tokens is RL."""
    if algorithm is not None:
        return Method(_SUPERVISED.get(algorithm.casefold(), "rl"), f"algorithm {algorithm}")
    return Method("rl", "it sampled tokens") if sampled > 0 else Method("", "")


@dataclass(frozen=True)
class Wanted:
    """What a run needs: method, model and its size, tokens by kind (all attempts, surviving steps), GPU-hours
    by platform.
    """

    method: str
    llm: str
    params_b: float
    tokens: Mapping[str, float]
    kept: Mapping[str, float]
    gpu_hours: Mapping[str, float]


@dataclass(frozen=True)
class Offer:
    """What one service would bill, or why it cannot be compared; `usd` is NaN then."""

    label: str
    provider: str
    basis: str
    tuning: str
    usd: float
    low: float
    high: float
    comparable: bool
    why_not: str
    failed_jobs_billed: str
    as_of: str
    conditions: str
    status: str
    source: str
    rows: tuple[ServicePrice, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def price_ids(self) -> list[str]:
        """Ids of the prices used."""
        return [row.price_id for row in self.rows]


def offers_for(book: Iterable[ServicePrice], wanted: Wanted) -> list[Offer]:
    """One offer or more a service; one that fits in no way is there once, marked not comparable."""
    services: dict[str, list[ServicePrice]] = {}
    for row in book:
        services.setdefault(row.service, []).append(row)
    out = []
    for rows in services.values():
        found = [*_by_token(rows, wanted), *_by_gpu(rows, wanted)]
        out += found or [_none(rows, wanted)]
    return out


def _by_token(rows: list[ServicePrice], wanted: Wanted) -> list[Offer]:
    """One offer a kind of tuning whose newest list prices every kind of token that the method needs."""
    fits = [r for r in rows if wanted.method in r.methods and r.kind in TOKEN_KINDS and _is_model(r, wanted)]
    out = []
    for tuning in dict.fromkeys(r.tuning for r in fits):
        lists: dict[tuple[str, str], dict[str, ServicePrice]] = {}
        for row in fits:
            if row.tuning == tuning and row.context == STANDARD:
                lists.setdefault((row.as_of, row.model), {})[row.kind] = row
        whole = {k: v for k, v in lists.items() if set(NEEDS[wanted.method]) <= set(v)}
        if whole:
            kinds = whole[max(whole)]
            used = [
                *NEEDS[wanted.method],
                *(k for k in kinds if k == "cached_prefill" and wanted.method == "rl"),
            ]
            out.append(_token_offer([kinds[k] for k in used], wanted))
    return out


def _is_model(row: ServicePrice, wanted: Wanted) -> bool:
    if row.llm:
        names = (row.llm.casefold(), row.model.casefold(), row.model.rpartition("/")[2].casefold())
        return wanted.llm.strip().casefold() in names
    if not row.by_class or math.isnan(wanted.params_b):
        return False
    return (row.params_low_b or 0.0) <= wanted.params_b <= (row.params_high_b or math.inf)


def _token_offer(rows: list[ServicePrice], wanted: Wanted) -> Offer:
    first = rows[0]
    ends = [{r.kind: _price(r, end) for r in rows} for end in ("low", "value", "high")]
    for prices in ends:
        if "prefill" in prices:
            prices.setdefault("cached_prefill", prices["prefill"])
    whole = {k: v for k, v in wanted.tokens.items() if k.removeprefix("cached_") in NEEDS[wanted.method]}
    kept = {k: v for k, v in wanted.kept.items() if k in whole and not math.isnan(v)}
    free = first.failed_jobs_billed == "no" and len(kept) == len(whole)
    parts = service_usd(kept if free else whole, ends[1])
    maybe_free = first.failed_jobs_billed in ("unknown", "partial", "no") and len(kept) == len(whole)
    low = math.fsum(service_usd(kept if maybe_free else whole, ends[0]).values())
    high = math.fsum(service_usd(kept if free else whole, ends[2]).values())
    tuning = {"lora": "LoRA", "full": "full", "": ""}[first.tuning]
    label = f"{first.provider}, {first.model}{f', {tuning}' if tuning else ''}"
    return Offer(
        label, first.provider, METERED, first.tuning, math.fsum(parts.values()), low, high, True, "",
        first.failed_jobs_billed, first.as_of, first.conditions, first.status, first.source, tuple(rows),
        parts,
    )  # fmt: skip


def _price(row: ServicePrice, end: str) -> float:
    value = getattr(row, end)
    if value is None:
        value = row.value if row.value is not None else ((row.low or 0.0) + (row.high or 0.0)) / 2
    return float(value)


def _by_gpu(rows: list[ServicePrice], wanted: Wanted) -> list[Offer]:
    """The same GPU-hours at the service's newest dated rate of the same GPU, where all of them are on it."""
    if len(wanted.gpu_hours) != 1:
        return []
    platform, hours = next(iter(wanted.gpu_hours.items()))
    fits = [
        r
        for r in rows
        if r.kind == "gpu_hour"
        and r.platform_id == platform
        and r.value is not None
        and wanted.method in r.methods
    ]
    if not platform or not fits or not hours > 0:
        return []
    row = max(fits, key=lambda r: r.as_of)
    usd = hours * (row.value or 0.0)
    words = f"the same {digits3(hours)} GPU-hours on the same GPU; {row.conditions}"
    return [
        Offer(
            f"{row.provider}, {row.model}", row.provider, RENTED, row.tuning, usd, usd, usd, True, "",
            row.failed_jobs_billed, row.as_of, words, row.status, row.source, (row,),
        )
    ]  # fmt: skip


def _none(rows: list[ServicePrice], wanted: Wanted) -> Offer:
    """A service that has no price for this method and model, with what it has."""
    first = rows[0]
    same = [r for r in rows if wanted.method in r.methods]
    if not same:
        does = sorted({m for r in rows for m in r.methods})
        why = f"no price for {wanted.method.upper()}; it lists {listing([m.upper() for m in does])}"
    elif any(r.kind in TOKEN_KINDS for r in same):
        has = list(dict.fromkeys(r.model for r in same if r.kind in TOKEN_KINDS))
        size = "" if math.isnan(wanted.params_b) else f" ({digits3(wanted.params_b)}B)"
        why = f"no whole price for {wanted.llm}{size}; it lists {listing(has, 3)}"
    elif all(r.value is None and r.low is None for r in same):
        why = "its rate is not published"
    else:
        has = list(dict.fromkeys(f"{r.model} by the {r.kind.replace('_', ' ')}" for r in same))
        why = f"not priced by the token nor for this GPU; it lists {listing(has, 3)}"
    told = next((r for r in same or rows if r.failed_jobs_billed not in ("unknown",)), (same or rows)[0])
    return Offer(
        first.provider, first.provider, "", "", NAN, NAN, NAN, False, why, told.failed_jobs_billed,
        told.as_of, told.conditions, told.status, told.source,
    )  # fmt: skip
