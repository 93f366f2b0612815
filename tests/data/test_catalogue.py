"""The catalogue tells what is known with its source and refuses rows that do not say where they come from."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from data import catalogue_types as t
from data.catalogue import FOLDER, Catalogue, load_catalogue
from data.errors import CatalogueError

Row = dict[str, str]


@pytest.fixture(scope="module")
def book() -> Catalogue:
    return load_catalogue()


def read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as handle:
        out = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., CatalogueError]:
    """Break one row of a copy of the catalogue and return the error with the line it must name."""

    def do(file: str, pick: Callable[[Row], bool], change: Row, *, add: bool = False) -> CatalogueError:
        folder = tmp_path / "copy"
        shutil.copytree(FOLDER, folder)
        rows = read(folder / file)
        index = next(i for i, r in enumerate(rows) if pick(r))
        changed = rows[index] | change
        if add:
            rows.append(changed)
            index = len(rows) - 1
        else:
            rows[index] = changed
        write(folder / file, rows)
        with pytest.raises(CatalogueError) as info:
            load_catalogue(folder)
        assert info.value.where == f"{file}, line {index + 2}"
        assert info.value.what and info.value.remedy
        return info.value

    return do


def published(row: Row) -> bool:
    return row["value"] != "" and row["status"] != "unsourced"


@pytest.mark.parametrize("file", ["platform_facts.csv", "prices.csv", "tco_defaults.csv"])
@pytest.mark.parametrize("column", ["source", "status", "unit"])
def test_a_fact_without_source_status_or_unit_is_refused(broken, file: str, column: str) -> None:
    assert column in broken(file, published, {column: ""}).what


@pytest.mark.parametrize("file", ["llms.csv", "benchmarks.csv", "claims.csv", "platforms.csv"])
def test_a_row_without_a_source_is_refused(broken, file: str) -> None:
    assert "source" in broken(file, lambda r: True, {"source": ""}).what


@pytest.mark.parametrize("column", ["source_repo", "source_path", "framework_version", "measured_by"])
def test_a_published_run_needs_its_origin(broken, column: str) -> None:
    assert column in broken("rl_runs.csv", lambda r: True, {column: ""}).what


@pytest.mark.parametrize("status", ["seed_article_only", "confirmed_by_vendor", "measured_by_vendor"])
def test_a_claim_is_not_a_measurement(broken, status: str) -> None:
    assert "claim" in broken("platform_facts.csv", published, {"status": status}).what


def test_a_measurement_is_not_a_claim(broken) -> None:
    assert "measurement" in broken("claims.csv", lambda r: True, {"status": "measured"}).what


def test_an_unsourced_fact_carries_no_value(broken) -> None:
    assert "unsourced" in broken("platform_facts.csv", published, {"status": "unsourced"}).what


def test_price_ids_are_unique(broken) -> None:
    pick = lambda r: r["tier"] == ""  # noqa: E731
    assert "price id" in broken("prices.csv", pick, {}, add=True).what


def test_two_prices_for_one_pick_are_refused(broken) -> None:
    default = lambda r: r["kind"] == "reserved_3y" and r["tier"] == "neocloud"  # noqa: E731
    assert "reserved_3y / neocloud" in broken("prices.csv", default, {"price_id": "other"}, add=True).what


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"kind": "own_tco"}, "contradict"),
        ({"tier": "owned"}, "contradict"),
        ({"kind": "weekly"}, "kind"),
        ({"tier": "friends"}, "tier"),
        ({"value": "0"}, "not a price"),
        ({"value": "-2"}, "not a price"),
        ({"value": "two"}, "not a number"),
        ({"value": "nan"}, "finite"),
        ({"unit": "EUR per GPU-hour"}, "USD"),
        ({"platform_id": "h1000"}, "h1000"),
        ({"as_of": "July 2026"}, "as_of"),
    ],
)
def test_a_price_that_cannot_be_used_is_refused(broken, change: Row, word: str) -> None:
    assert word in broken("prices.csv", lambda r: r["kind"] == "reserved_3y" and r["tier"] != "", change).what


def test_one_preferred_value_a_field(broken) -> None:
    assert (
        "preferred"
        in broken("platform_facts.csv", lambda r: r["preferred"] == "false", {"preferred": "true"}).what
    )


def test_a_field_without_a_preferred_value_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy")
    rows = read(FOLDER / "platform_facts.csv")
    rows[0]["preferred"] = "false"
    write(tmp_path / "copy" / "platform_facts.csv", rows)
    with pytest.raises(CatalogueError, match="preferred"):
        load_catalogue(tmp_path / "copy")


def test_two_names_for_one_benchmark_may_not_clash(broken) -> None:
    error = broken("benchmarks.csv", lambda r: r["benchmark_id"] == "gsm8k", {"aliases": "cais/HLE"})
    assert "cais/hle" in error.what and "benchmarks.csv, line" in error.what


def test_wrong_columns_and_ragged_rows_name_the_line(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy")
    path = tmp_path / "copy" / "prices.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("price_id,", "id,", 1), encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"prices\.csv, line 1"):
        load_catalogue(tmp_path / "copy")
    path.write_text(text + "one,two\n", encoding="utf-8")
    last = text.count("\n") + 1
    with pytest.raises(CatalogueError, match=rf"prices\.csv, line {last}"):
        load_catalogue(_fresh(tmp_path / "copy", tmp_path / "again"))


def _fresh(source: Path, target: Path) -> Path:
    """A loaded folder is remembered, so a changed one needs another name."""
    shutil.copytree(source, target)
    return target


def test_every_shown_number_has_unit_status_and_source(book: Catalogue) -> None:
    for fact in book.facts():
        if fact.value is not None:
            assert fact.unit and fact.source and fact.status in t.FACT_STATUSES
    for price in book.prices():
        if price.value is not None:
            assert price.unit.startswith("USD per ") and price.source and price.status in t.FACT_STATUSES
    for status in t.FACT_STATUSES | t.CLAIM_STATUSES | {t.UNPUBLISHED}:
        assert t.STATUS_WORDS[status]


def test_the_default_price_reaches_from_hopper_to_rubin(book: Catalogue) -> None:
    assert book.price_menu()[0] == ("reserved_3y", "neocloud")
    usd = {
        p: book.price(p, "reserved_3y", "neocloud")
        for p in ("h100-sxm", "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72")
    }
    assert [c.usd_per_gpu_h for c in usd.values() if c] == [2.0, 4.0, 5.0, 8.5]


def test_the_range_spans_the_quotes_of_the_same_kind(book: Catalogue) -> None:
    quotes = [
        r for r in read(FOLDER / "prices.csv") if (r["platform_id"], r["kind"]) == ("h100-sxm", "on_demand")
    ]
    values = [float(r["value"]) for r in quotes if r["value"]]
    for tier in ("neocloud", "hyperscaler", "marketplace"):
        choice = book.price("h100-sxm", "on_demand", tier)
        assert choice is not None
        assert (choice.low, choice.high, choice.n_quotes) == (min(values), max(values), len(values))
        assert choice.low <= choice.usd_per_gpu_h <= choice.high


def test_a_price_that_does_not_exist_is_not_replaced(book: Catalogue) -> None:
    assert book.price("gb300-nvl72", "on_demand", "neocloud") is None
    why = book.why_no_price("gb300-nvl72", "on_demand", "neocloud")
    assert "GB300" in why and "3-year reservation · neocloud" in why and "on demand · hyperscaler" in why
    assert book.price("vera-rubin-nvl72", "on_demand", "neocloud") is None
    assert book.price("no-such", "on_demand", "neocloud") is None
    assert "no-such" in book.why_no_price("no-such", "on_demand", "neocloud")
    assert "any other" in book.why_no_price("h20", "reserved_3y", "neocloud")


def test_owning_cost_can_be_picked_and_purchases_cannot(book: Catalogue) -> None:
    own = book.price("h100-sxm", "own_tco", "owned")
    assert own is not None and (own.kind, own.usd_per_gpu_h) == ("own_tco", 1.17)
    assert book.price_menu()[-1] == ("own_tco", "owned")
    assert all(kind in t.HELD_KINDS for kind, _ in book.price_menu())
    for price in book.prices():
        if price.kind not in t.HELD_KINDS:
            assert book.price_by_id(price.price_id) is None


def test_cpus_are_priced_by_the_core_and_chips_say_so(book: Catalogue) -> None:
    core = book.core_price("x86-reference")
    assert core is not None and (core.usd_per_gpu_h, core.unit) == (0.0504, "USD per vCPU-hour")
    assert book.price("x86-reference", "on_demand", "marketplace") is None
    assert book.core_price("h100-sxm") is None and book.core_price("vera") is None
    chip = book.price("tpu7x", "on_demand", "hyperscaler")
    assert chip is not None and chip.unit == "USD per chip-hour"


def test_every_published_rent_is_found_by_its_id(book: Catalogue) -> None:
    rents = [p for p in book.prices() if p.kind in t.RENT_KINDS and p.unit in t.RENT_UNITS]
    published = [price for price in rents if price.value is not None]
    assert published
    for price in published:
        choice = book.price_by_id(price.price_id)
        assert choice is not None and choice.usd_per_gpu_h == price.value


def test_unpublished_is_said(book: Catalogue) -> None:
    assert book.fact("tpu7x", "hbm_tb_s") is None
    assert book.why_no_fact("tpu7x", "hbm_tb_s").startswith("not published")
    assert book.fact("h100-sxm", "fp4_dense_tflops") is None
    assert book.why_no_fact("h100-sxm", "fp4_dense_tflops") == "not supported"
    assert book.why_no_fact("h100-sxm", "no_such_field") == "not published"
    wacc = book.tco_default("wacc")
    assert wacc is not None and wacc.value is None


def test_dense_rates_and_usable_memory(book: Catalogue) -> None:
    rubin = book.fact("vera-rubin-nvl72", "fp4_dense_tflops")
    assert rubin is not None and rubin.number == 35000
    for platform in book.platforms():
        usable, label = (
            book.fact(platform.platform_id, "hbm_usable_bytes"),
            book.fact(platform.platform_id, "hbm_gb"),
        )
        if usable and label and usable.number and label.number:
            assert usable.number <= label.number * 2**30 * 1.01


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("openai/gsm8k", "gsm8k"),
        ("HuggingFaceH4/MATH-500", "math-500"),
        ("aime_2024", "aime-2024"),
        ("AIME24", "aime-2024"),
        ("gsm8k", "gsm8k"),
        ("lighteval/MATH", None),
    ],
)
def test_benchmarks_are_known_by_the_names_in_telemetry(
    book: Catalogue, name: str, found: str | None
) -> None:
    benchmark = book.benchmark(name)
    assert (benchmark.benchmark_id if benchmark else None) == found


def test_gpu_names_of_drivers_lead_to_one_platform(book: Catalogue) -> None:
    found = book.platform_of_gpu("NVIDIA H100 80GB HBM3")
    assert found is not None and found.platform_id == "h100-sxm"
    assert book.platform_of_gpu("NVIDIA H100 PCIe") is None
    names = [n.casefold() for p in book.platforms() for n in p.gpu_names]
    assert len(names) == len(set(names))


def test_the_version_follows_the_content(book: Catalogue, tmp_path: Path) -> None:
    same = load_catalogue(_fresh(FOLDER, tmp_path / "same"))
    assert same.version == book.version
    rows = read(FOLDER / "prices.csv")
    rows[0]["value"] = "2.71"
    folder = _fresh(FOLDER, tmp_path / "other")
    write(folder / "prices.csv", rows)
    assert load_catalogue(folder).version != book.version


def test_the_book_is_dated_by_its_newest_price(book: Catalogue) -> None:
    dates = [r["as_of"] for r in read(FOLDER / "prices.csv") if r["value"] and r["as_of"]]
    assert book.price_book_date == max(dates)


def test_published_runs_carry_their_version(book: Catalogue) -> None:
    runs = book.rl_runs()
    assert len(runs) == 70 and {"nemo-rl", "verl"} <= {r.framework for r in runs}
    first = next(r for r in runs if r.row_id == "P0000")
    assert (first.platform_id, first.n_gpus, first.tokens_per_s_per_gpu) == ("h100-sxm", 16, 1562)
    assert first.source == "NVIDIA-NeMo/RL docs/about/performance-summary.md @cff17f8"
    for run in runs:
        assert book.platform(run.platform_id) is not None
        assert not run.model_id or book.llm(run.model_id) is not None


def test_token_prices_have_ids_sources_and_dates(book: Catalogue) -> None:
    prices = book.token_prices()
    assert len({p.price_id for p in prices}) == len(prices) > 100
    assert all(p.source and p.as_of and p.value > 0 for p in prices)
    assert {p.status for p in prices} == {"vendor_spec", "derived", "analyst"}


def test_the_newest_whole_list_is_used_and_never_another_model(book: Catalogue) -> None:
    rates = book.token_rates("tinker", "Qwen3-8B")
    assert rates is not None
    assert (rates.prefill.value, rates.sample.value, rates.train.value) == (0.195, 0.6, 0.44)
    assert rates.cached is not None
    assert rates.cached.value == pytest.approx(0.2 * rates.prefill.value)
    assert {p.as_of for p in rates.rows} == {"2026-07-17"}
    retired = book.token_rates("tinker", "qwen3-4b-instruct-2507")
    assert retired is not None
    assert (retired.train.as_of, retired.cached) == ("2026-01-05", None)
    assert book.token_rates("tinker", "gemma-3-1b") is None
    assert book.token_rates("other", "qwen3-8b") is None


def test_models_that_only_have_a_token_price_can_be_named(book: Catalogue) -> None:
    assert book.llm_id("Qwen/Qwen3-8B") == "qwen3-8b"
    assert book.llm_id("Qwen/Qwen3-4B-Instruct-2507") == "qwen3-4b-instruct-2507"
    assert book.llm_id("nobody/nothing") is None
    names = book.llm_names()
    assert names["qwen3-4b-instruct-2507"] == "Qwen3-4B-Instruct-2507"
    assert next(iter(names)) == book.llms()[0].model_id


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (",prefill,standard,1.87,", ",prefill,standard,0,", "price"),
        (",prefill,standard,1.87,", ",bogus,standard,1.87,", "kind"),
        (",USD per million tokens,", ",EUR,", "unit"),
    ],
)
def test_a_bad_token_price_is_refused(tmp_path, old: str, new: str, word: str) -> None:
    folder = _fresh(FOLDER, tmp_path / "copy")
    path = folder / "service_prices.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CatalogueError, match=word):
        load_catalogue(folder)
