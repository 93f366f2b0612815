"""Platforms side by side: specifications and rents, each with unit, status, source, date and condition."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import pandas as pd
from pydantic import field_validator

from analysis.common import result
from analysis.params import CommonParams
from analysis.prices import price_name, source_words, split_price
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import digits3, listing, money
from data.catalogue import Catalogue
from data.catalogue_types import (
    RENT_KINDS,
    RENT_PER,
    STATUS_WORDS,
    USD,
    Fact,
    Platform,
    PriceChoice,
    PriceRow,
    price_words,
)
from data.errors import UserError
from data.view import View

MOST = 5
DEFAULT = ("h100-sxm", "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72", "mi355x")


@dataclass(frozen=True)
class Spec:
    """One row of the comparison: catalogue field, what people call it, shown unit, divisor, group."""

    field: str
    label: str
    unit: str
    divisor: float
    group: str
    cpu: bool = False


SPECS = (
    Spec("release", "Release", "date", 1, "Release"),
    Spec("bf16_dense_tflops", "BF16, dense", "TFLOP/s", 1, "Compute a GPU"),
    Spec("fp8_dense_tflops", "FP8, dense", "TFLOP/s", 1, "Compute a GPU"),
    Spec("fp4_dense_tflops", "FP4, dense", "TFLOP/s", 1, "Compute a GPU"),
    Spec("bf16_measured_max_tflops", "BF16, best matrix product measured", "TFLOP/s", 1, "Compute a GPU"),
    Spec("hbm_gb", "HBM, as labelled", "GB", 1, "Memory a GPU"),
    Spec("hbm_usable_bytes", "HBM, usable", "GiB", 2**30, "Memory a GPU"),
    Spec("hbm_tb_s", "HBM bandwidth", "TB/s", 1, "Memory a GPU"),
    Spec("scaleup_gb_s_one_way", "Scale-up link, one way", "GB/s", 1, "Network a GPU"),
    Spec("scaleup_domain_gpus", "Scale-up domain", "GPUs", 1, "Network a GPU"),
    Spec("scaleout_gb_s_one_way", "Scale-out link, one way", "GB/s", 1, "Network a GPU"),
    Spec("gpu_tdp_w", "TDP", "W", 1, "Power a GPU"),
    Spec("all_in_kw_per_gpu", "All-in IT power", "kW", 1, "Power a GPU"),
    Spec("cpu_cores_per_gpu", "CPU cores beside a GPU", "cores", 1, "Host"),
    Spec("cpu_cores", "Cores a socket", "cores", 1, "CPU", True),
    Spec("cpu_mem_tb_s", "Memory bandwidth a socket", "TB/s", 1, "CPU", True),
    Spec("cpu_tdp_w", "TDP a socket", "W", 1, "CPU", True),
)
_ROW = ("platform_id", "platform", "group", "field", "label", "value", "text", "unit", "status", "badge")
COMPARISON = (*_ROW, "source", "date", "condition", "note", "best_frac", "other_values")


class PlatformsParams(CommonParams):
    """`compare`: up to five platform ids; empty means the platforms of the shared filter, else a default."""

    question = "platforms"
    compare: tuple[str, ...] = ()

    @field_validator("compare")
    @classmethod
    def _few(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST:
            raise ValueError(f"at most {MOST} platforms stand side by side, {len(value)} were asked for")
        if len(set(value)) != len(value):
            raise ValueError("a platform is named twice")
        return value


def compute(view: View, params: PlatformsParams) -> Result:
    """Compare platforms; raises UserError on a platform that the catalogue does not know."""
    book = view.catalogue
    chosen = _chosen(book, params)
    kind, tier = split_price(params.price)
    choices = {p.platform_id: book.price(p.platform_id, kind, tier) for p in chosen}
    comparison = _comparison(book, chosen, params.price)
    prices = _prices(book, chosen)
    picked = [(p, c) for p in chosen if (c := choices[p.platform_id]) is not None]
    return result(
        "platforms",
        view,
        params,
        _answer(book, chosen, choices, params.price),
        headline=[_price_figure(book, p, choices[p.platform_id], params.price) for p in chosen],
        tables={"comparison": comparison, "prices": prices, "claims": _claims(book, chosen)},
        assumptions=[_assumption(p, c) for p, c in picked],
        notices=_notices(book, chosen, choices, params.price),
        prices=pd.DataFrame({"price_id": [c.price_id for _, c in picked]}),
    )


def _chosen(book: Catalogue, params: PlatformsParams) -> list[Platform]:
    ids = params.compare or params.platforms[:MOST] or DEFAULT
    found = []
    for platform_id in ids:
        platform = book.platform(platform_id)
        if platform is None or platform.kind == "service":
            raise UserError(
                f"platform {platform_id!r} is not in the catalogue", "compare", "Pick one from the list."
            )
        found.append(platform)
    return found


def _comparison(book: Catalogue, chosen: Sequence[Platform], price: str) -> pd.DataFrame:
    kinds = {p.kind for p in chosen}
    rows = []
    for spec in SPECS:
        if (spec.cpu and "cpu" not in kinds) or (
            not spec.cpu and spec.field != "release" and kinds == {"cpu"}
        ):
            continue
        rows += [_spec_row(book, p, spec) for p in chosen]
    for kind, tier in _price_rows(book, chosen, split_price(price)):
        rows += [_price_row(book, p, kind, tier) for p in chosen]
    frame = pd.DataFrame(rows, columns=[c for c in COMPARISON if c != "best_frac"])
    frame["value"] = frame["value"].astype("float64")
    best = frame.groupby("field")["value"].transform("max")
    frame["best_frac"] = frame["value"] / best
    return frame[list(COMPARISON)]


def _price_rows(
    book: Catalogue, chosen: Sequence[Platform], picked: tuple[str, str]
) -> list[tuple[str, str]]:
    have = [m for m in book.price_menu() if any(book.price(p.platform_id, *m) for p in chosen)]
    return [picked, *(m for m in have if m != picked)]


def _spec_row(book: Catalogue, platform: Platform, spec: Spec) -> tuple[object, ...]:
    row = book.fact_row(platform.platform_id, spec.field)
    head = (platform.platform_id, platform.name, spec.group, spec.field, spec.label)
    fits = spec.cpu == (platform.kind == "cpu") or spec.field == "release"
    if row is None or row.value is None:
        text = book.why_no_fact(platform.platform_id, spec.field) if fits else "does not apply"
        gone = "unsourced" if fits else ""
        return (*head, None, text, spec.unit, gone, STATUS_WORDS.get(gone, ""), "", "", "", "", 0)
    value = None if row.number is None else row.number / spec.divisor
    text = str(row.value) if value is None else _plain(value)
    tail = (row.source, row.date, row.condition, row.note, _others(book, row))
    return (*head, value, text, spec.unit, row.status, STATUS_WORDS[row.status], *tail)


def _plain(value: float) -> str:
    """Specification as printed: whole numbers whole, others with four digits."""
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.4g}"


def _others(book: Catalogue, row: Fact) -> int:
    rows = book.fact_rows(row.platform_id, row.field)
    return len({r.value for r in rows if r.value is not None} - {row.value})


def _price_row(book: Catalogue, platform: Platform, kind: str, tier: str) -> tuple[object, ...]:
    field, label = f"price:{kind}.{tier}", price_words(kind, tier)
    head = (platform.platform_id, platform.name, "Rent", field, label)
    choice = book.price(platform.platform_id, kind, tier)
    if choice is None:
        return (
            *head,
            None,
            "no such price published",
            "USD/GPU-h",
            "unsourced",
            "not published",
            *("",) * 4,
            0,
        )
    unit = "USD/chip-h" if "chip" in choice.unit else "USD/GPU-h"
    spread = (
        f"{choice.n_quotes} quotes from {money(choice.low)} to {money(choice.high)}"
        if choice.n_quotes > 1
        else "one quote"
    )
    tail = (choice.source, choice.as_of, f"{choice.provider}; {spread}", choice.note, choice.n_quotes - 1)
    return (
        *head,
        choice.usd_per_gpu_h,
        f"{choice.usd_per_gpu_h:.2f}",
        unit,
        choice.status,
        STATUS_WORDS[choice.status],
        *tail,
    )


def _prices(book: Catalogue, chosen: Sequence[Platform]) -> pd.DataFrame:
    names = {p.platform_id: p.name for p in chosen}
    held = [(p, book.usd(p)) for p in book.prices() if p.platform_id in names and p.per in RENT_PER]
    rows = [{**vars(p), "value": usd, "unit": f"{USD} per {p.per}"} for p, usd in held if usd is not None]
    frame = pd.DataFrame(rows, columns=[*(f.name for f in fields(PriceRow)), "version"])
    frame.insert(2, "platform", frame["platform_id"].map(names))
    frame["badge"] = frame["status"].map(STATUS_WORDS)
    frame["value"] = frame["value"].astype("float64")
    frame["day"] = [_day(text) for text in frame["as_of"]]
    frame["day"] = frame["day"].astype("datetime64[us]")
    return frame


def _day(as_of: str) -> pd.Timestamp | None:
    """Middle of the year or month that a partial date names, so that a dot claims no first day."""
    return pd.Timestamp(as_of + {4: "-07-01", 7: "-15"}.get(len(as_of), "")) if as_of else None


def _claims(book: Catalogue, chosen: Sequence[Platform]) -> pd.DataFrame:
    frame = claims_table(book)
    ids = {p.platform_id for p in chosen}
    touches = frame["baseline_platform_id"].isin(ids) | frame["target_platform_id"].isin(ids)
    return frame[touches].reset_index(drop=True)


def claims_table(book: Catalogue) -> pd.DataFrame:
    """All claims with the words of their badge."""
    frame = pd.DataFrame([vars(c) for c in book.claims()])
    frame.insert(2, "badge", frame["status"].map(STATUS_WORDS))
    return frame


def llms_table(book: Catalogue) -> pd.DataFrame:
    """All model shapes."""
    return _named(pd.DataFrame([vars(m) for m in book.llms()]))


def benchmarks_table(book: Catalogue) -> pd.DataFrame:
    """All benchmarks."""
    return _named(pd.DataFrame([vars(b) for b in book.benchmarks()]))


def tco_table(book: Catalogue) -> pd.DataFrame:
    """All cost parameters, unpublished ones included."""
    frame = pd.DataFrame([vars(d) for d in book.tco_defaults()])
    return frame.assign(badge=frame["status"].map(STATUS_WORDS))


def prices_table(book: Catalogue) -> pd.DataFrame:
    """Every price row of the book, unpublished ones included."""
    columns = [*(f.name for f in fields(PriceRow)), "version"]
    frame = pd.DataFrame([vars(p) for p in book.prices()], columns=columns)
    return frame.assign(badge=frame["status"].map(STATUS_WORDS))


def facts_table(book: Catalogue) -> pd.DataFrame:
    """Every specification row, also those that contradict the preferred one."""
    frame = pd.DataFrame([vars(f) for f in book.facts()])
    frame["value"] = [
        "not published" if v is None else f"{v:g}" if isinstance(v, float) else v for v in frame["value"]
    ]
    return frame.assign(badge=frame["status"].map(STATUS_WORDS))


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    frame["aliases"] = [", ".join(a) for a in frame["aliases"]]
    return frame.assign(badge=frame["status"].map(STATUS_WORDS))


def _price_figure(book: Catalogue, platform: Platform, choice: PriceChoice | None, price: str) -> Figure:
    kind, tier = split_price(price)
    name, label = f"rent:{platform.platform_id}", f"{platform.name} rent"
    formula = f"catalogue price {price_words(kind, tier)}; range over published quotes of {platform.name}"
    if choice is None:
        why = book.why_no_price(platform.platform_id, kind, tier)
        return Figure(name, label, None, "usd_per_gpu_h", formula=formula, missing=why)
    unit = "usd_per_chip_h" if "chip" in choice.unit else "usd_per_gpu_h"
    return Figure(
        name,
        label,
        choice.usd_per_gpu_h,
        unit,
        choice.low,
        choice.high,
        "quote_range",
        choice.n_quotes,
        formula=formula,
    )


def _assumption(platform: Platform, choice: PriceChoice) -> Assumption:
    return Assumption(
        name=f"rent of {platform.name} ({price_name(choice)})",
        value=choice.usd_per_gpu_h,
        unit=choice.unit,
        status=choice.status,
        source=source_words(choice),
        date=choice.as_of,
    )


def _notices(
    book: Catalogue, chosen: Sequence[Platform], choices: dict[str, PriceChoice | None], price: str
) -> tuple[Notice, ...]:
    out = []
    for platform in chosen:
        choice = choices[platform.platform_id]
        if choice is None:
            why = book.why_no_price(platform.platform_id, *split_price(price))
            out.append(Notice("price_missing", why, platform.platform_id))
        elif "chip" in choice.unit:
            text = f"{platform.name} is priced by the chip-hour; the others by the GPU-hour."
            out.append(Notice("chip_hour", text, platform.platform_id))
    return tuple(out)


def _answer(
    book: Catalogue, chosen: Sequence[Platform], choices: dict[str, PriceChoice | None], price: str
) -> str:
    kind, tier = split_price(price)
    priced = [(p, c) for p in chosen if (c := choices[p.platform_id]) is not None]
    missing = [p.name for p in chosen if choices[p.platform_id] is None]
    tail = f" No such price is published for {listing(missing, MOST)}." if missing else ""
    if not priced:
        return f"At {price_words(kind, tier)} there is no published rent for any of these platforms.{tail}"
    ordered = sorted(priced, key=lambda pc: pc[1].usd_per_gpu_h)
    (first, low), (last, high) = ordered[0], ordered[-1]
    head = f"At {price_words(kind, tier)}, {first.name} rents for {money(low.usd_per_gpu_h)} {_per(low)}"
    if first is last:
        return f"{head} ({low.as_of or 'undated'}).{tail}"
    times = digits3(high.usd_per_gpu_h / low.usd_per_gpu_h)
    head += f" and {last.name} for {money(high.usd_per_gpu_h)} ({times} times)"
    gains = [g for s in ("bf16_dense_tflops", "hbm_tb_s") if (g := _times(book, first, last, s))]
    return f"{head}{', for ' + ' and '.join(gains) if gains else ''}.{tail}"


def _per(choice: PriceChoice) -> str:
    return "a chip-hour" if "chip" in choice.unit else "a GPU-hour"


def _times(book: Catalogue, first: Platform, last: Platform, field: str) -> str:
    words = {"bf16_dense_tflops": "dense BF16 rate", "hbm_tb_s": "memory bandwidth"}
    a, b = book.fact(first.platform_id, field), book.fact(last.platform_id, field)
    if a is None or b is None or not a.number or not b.number:
        return ""
    return f"{digits3(b.number / a.number)} times the {words[field]}"


def rent_kinds(prices: pd.DataFrame) -> list[str]:
    """Kinds of rent that a price table holds, in the order of the picker."""
    held = set(prices["kind"])
    return [k for k in RENT_KINDS if k in held]
