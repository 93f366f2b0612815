"""The numbers in the pages about owning, tenure and services are those of the code and the catalogue."""

import re
from collections import Counter

import pytest

from analysis.offers import Wanted, offers_for
from analysis.own_inputs import OwnParams, settings_of
from data.catalogue import load_catalogue
from models.own_cost import Capital, OwnInputs, Power, Purchase, own_cost, units_for
from models.tenure import Demand, Owned, Path, Terms, break_even_utilisation, cost_of
from tests.docs_pages import DOCS

BOOK = load_catalogue()


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def cells(text: str, first: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {first}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("row", "usd", "gpus", "life"),
    [
        ("H100, $50,000", 50_000, 1, 4),
        ("GB200, $5.0M", 5.0e6, 72, 4),
        ("GB300, $4.0M", 4.0e6, 72, 4),
        ("Vera Rubin, $7.8M", 7.8e6, 72, 4),
        ("the same | 6", 7.8e6, 72, 6),
        ("the same | 3", 7.8e6, 72, 3),
    ],
)
def test_published_capital_in_words(row: str, usd: float, gpus: int, life: int) -> None:
    told = cells(page("own-cost.md"), row)[-2:]
    for wacc, text in zip((0.0, 0.10), told, strict=True):
        found = own_cost(OwnInputs(Purchase(gpus, gpus, usd), Capital(wacc, life), None, None)).capital
        assert f"{found:.2f}" == text
    assert cells(page("own-cost.md"), row)[1] == f"{life} years"


def test_numbers_of_the_own_cost_page() -> None:
    text = page("own-cost.md")
    assert (units_for(100, 72), 2 * 72) == (2, 144) and "are 2 racks: 144 GPUs" in text
    for platform, words in (("h100-sxm", "0.14 (H100)"), ("mi355x", "0.21 (MI355X)")):
        kw = BOOK.fact(platform, "all_in_utility_kw_per_gpu")
        assert f"{Power(0.08, 1.0, utility_kw=kw.number).usd_per_gpu_h():.2f}" == words[:4] and words in text
    found = settings_of(BOOK, OwnParams(), "gb300-nvl72")
    assert found["network_frac"].value == 0.125 and "adder of 12.5 %" in text
    left = BOOK.tco_default("residual_value_fraction_36m")
    assert (left.low, left.high) == (0.25, 0.35) and "25-35 % hold after 36 months" in text
    assert f"± {OwnParams().range_frac:.0%}".replace("%", " %") in text
    missing = ("wacc", "ops_staff_per_1000_gpus", "support_uplift_fraction", "power_load_factor")
    assert all(BOOK.tco_default(name).value is None for name in missing)


def test_the_example_of_rent_or_own() -> None:
    text, demand, path = page("rent-or-own.md"), Demand.flat(8, 0.5), Path(36, 0.0)
    ways = [(0, None), (8, Terms(3.0, 12)), (8, Terms(2.5, 36)), (8, Owned(1.0, 0.0, 48))]
    found = [cost_of(demand, path, 0.8, 4.0, fleet, terms) for fleet, terms in ways]
    told = cells(text, "useful GPU-hour")[1:]
    assert [f"${one.usd_per_useful_gpu_h:.2f}" for one in found] == told
    assert f"8 x 26,280 x $1.00 = ${found[-1].total_usd:,.0f}" in text
    assert f"on demand is {break_even_utilisation(1.0, 4.0):.0%}".replace("%", " %") in text
    upfront, term = BOOK.tco_default("lease_upfront_fraction"), BOOK.tco_default("lease_term_years")
    assert (upfront.value, term.value) == (0.25, 3) and "25 % at once, the rest over 3 years" in text


def test_the_market_in_words() -> None:
    text, found = page("rent-or-own.md"), {p.price_id: p.value for p in BOOK.prices()}
    assert f"${found['h100-sxm-contract-1y-semianalysis-h100-1y-index-2025-10']:.2f} in October 2025" in text
    assert f"${found['h100-sxm-contract-1y-neocloud-2026-03']:.2f} in March 2026" in text


def test_numbers_of_the_services_page() -> None:
    text, rows = page("services.md"), BOOK.service_prices()
    assert f"{len(rows)} prices and billing rules of {len({r.provider for r in rows})} providers" in text
    billed = Counter(row.failed_jobs_billed for row in rows)
    told = f"{billed['yes']} rules say that they are billed, {billed['no']} that they are not"
    assert f"{told}, {billed['partial']} in part" in text
    classes = {r.model for r in rows if r.service == "together" and r.by_class}
    assert {"up to 16B", "17B-69B"} <= classes and "(up to 16B, 17B-69B)" in text
    tokens = {"prefill": 2e6, "sample": 1e6, "train": 3e6}
    offer = next(
        o
        for o in offers_for(rows, Wanted("rl", "qwen3-8b", 8.19, tokens, tokens, {}))
        if o.provider == "Tinker"
    )
    assert f"= ${offer.usd:.2f}." in text
    prices = [f"{p.value:g}" for p in offer.rows[:3]]
    assert [
        f"{float(x):g}" for x in re.search(r"2 x ([\d.]+) \+ ([\d.]+) \+ 3 x ([\d.]+)", text).groups()
    ] == prices
