"""Prices and billing rules of hosted training services: the one table data/catalog/service_prices.csv."""

from dataclasses import dataclass
from pathlib import Path

from data import catalogue_types as t
from data.catalogue_rows import Line, check_evidence, read_rows, unique

TOKEN_KINDS = ("prefill", "cached_prefill", "sample", "train")
UNITS = {
    **dict.fromkeys(TOKEN_KINDS, "USD per million tokens"),
    "gpu_hour": "USD per GPU-hour",
    "job_hour": "USD per job-hour",
    "storage": "USD per GB-month",
}
"""Kind -> the unit it is priced in."""
METHODS = ("sft", "rl", "dpo", "inference")
BILLED = ("yes", "no", "partial", "unknown", "does not apply")
STANDARD = "standard"


@dataclass(frozen=True)
class ServicePrice:
    """One price or billing rule in `unit`; `value` None: not published, or only a range (`low`, `high`).

    `methods` it is for; `tuning` lora, full or '' where the page does not say. What it trains: `llm` (one
    model: the catalogue's id, or its name in small letters), a size class of `params_low_b` to
    `params_high_b` billion parameters (None: open), or a GPU of `platform_id`. `failed_jobs_billed`: yes, no,
    partial, unknown, does not apply. `as_of` may be empty: the page carries no date.
    """

    price_id: str
    service: str
    provider: str
    methods: tuple[str, ...]
    tuning: str
    model: str
    llm: str
    params_low_b: float | None
    params_high_b: float | None
    platform_id: str
    kind: str
    context: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    conditions: str
    failed_jobs_billed: str
    as_of: str
    status: str
    source: str
    note: str

    @property
    def by_class(self) -> bool:
        """True when it is the price of a size class, not of one model."""
        return self.params_low_b is not None


def load_service_prices(folder: Path, platforms: dict[str, t.Platform]) -> tuple[ServicePrice, ...]:
    """All rows in file order; raises CatalogueError naming file and line; refuses a row without source."""
    ids: dict[tuple[str, ...], str] = {}
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: ServicePrice) -> None:
        for column in ("price_id", "service", "provider", "methods", "model", "source"):
            line.need(column)
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="as_of")
        unique(ids, (row.price_id,), line, "price id")
        _check_words(line, row)
        _check_numbers(line, row)
        if row.platform_id and row.platform_id not in platforms:
            raise line.refuse(f"platform {row.platform_id!r} is not in platforms.csv", "Add it there first.")
        if row.kind in TOKEN_KINDS and row.llm:
            key = (row.service, "; ".join(row.methods), row.llm, row.kind, row.context, row.as_of, row.tuning)
            unique(seen, key, line, "the price of")

    return tuple(read_rows(folder / "service_prices.csv", ServicePrice, check))


def _check_words(line: Line, row: ServicePrice) -> None:
    odd = [m for m in row.methods if m not in METHODS]
    if odd:
        raise line.refuse(f"method {odd[0]!r} is unknown", f"Use {', '.join(METHODS)}.")
    if row.kind not in UNITS:
        raise line.refuse(f"kind {row.kind!r} is unknown", f"Use one of {', '.join(UNITS)}.")
    if row.unit != UNITS[row.kind]:
        raise line.refuse(f"unit {row.unit!r} does not fit {row.kind}", f"Convert it to {UNITS[row.kind]}.")
    if row.failed_jobs_billed not in BILLED:
        raise line.refuse(f"failed_jobs_billed {row.failed_jobs_billed!r}", f"Use {', '.join(BILLED)}.")
    if row.tuning not in ("", "lora", "full"):
        raise line.refuse(f"tuning {row.tuning!r} is unknown", "Use lora, full or leave it empty.")
    if row.kind in TOKEN_KINDS:
        line.need("context")


def _check_numbers(line: Line, row: ServicePrice) -> None:
    free = row.kind in ("gpu_hour", "job_hour", "storage")
    for value in (row.value, row.low, row.high):
        if value is not None and (value < 0 or (value == 0 and not free)):
            raise line.refuse(f"a price of {value:g} is not a price", "Leave it empty when it is unknown.")
    if (row.low is None) != (row.high is None) or (row.low or 0) > (row.high or 0):
        raise line.refuse("a range needs both ends in order", "Give low and high.")
    if row.by_class and row.llm:
        raise line.refuse("a size class and one model at once", "Give one of the two.")
