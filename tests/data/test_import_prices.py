"""Price lists of others: what becomes a price, what is set aside and why; every row is accounted for."""

import csv
import io
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from data.catalogue import load_catalogue
from data.errors import UserError
from data.money.import_checks import TRAPS
from data.money.import_plan import NO_GPU, ImportChoices, ImportPlan, plan_import
from data.money.price_entry import import_prices
from data.store import Store

VMS = ["InstanceType", "vCPUs", "MemoryGiB", "AcceleratorName", "AcceleratorCount", "GpuInfo", "Region"]
VMS += ["Price", "SpotPrice"]
HUNT = ["instance_name", "location", "price", "gpu_count", "gpu_name", "gpu_memory", "spot", "gpu_vendor"]
MAY = date(2026, 5, 1)


def table(columns: list[str], *rows: dict[str, object]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def vm(gpu: str, count: object, price: object, **more: object) -> dict[str, object]:
    row = {"InstanceType": "box-sxm", "AcceleratorName": gpu, "AcceleratorCount": count, "Price": price}
    return {**row, "Region": "north", **more}


def info(name: str, size: float, count: int = 8, *, json: bool = False) -> str:
    told = {"Gpus": [{"Name": name, "Count": count, "MemoryInfo": {"SizeInMiB": size}}]}
    return repr(told).replace("'", '"') if json else repr(told)


def plan(*rows: dict[str, object], columns: list[str] = VMS, **choices: object) -> ImportPlan:
    data = table(columns, *rows)
    found = plan_import(data, "list.csv", load_catalogue(), ImportChoices(**choices))  # type: ignore[arg-type]
    assert found.rows == found.priced + len(found.set_aside) + sum(found.ignored.values()) == len(rows)
    assert {row.code for row in (*found.set_aside, *found.dropped_spot)} <= set(TRAPS)
    return found


def codes(found: ImportPlan) -> list[str]:
    return [row.code for row in found.set_aside]


def prices(found: ImportPlan) -> list[tuple[str, str, float]]:
    return [(p["platform_id"], p["kind"], p["value"]) for p in found.prices]


def said(found: ImportPlan) -> dict[str, int]:
    return {code: n for code, n, _ in found.findings}


def test_the_price_of_an_instance_is_divided_by_its_gpus() -> None:
    found = plan(vm("H100", "8.0", 31.92), vm("B200", 1, 4.89))
    assert prices(found) == [("h100-sxm", "on_demand", 3.99), ("b200-hgx", "on_demand", 4.89)]
    assert said(found)["per_instance"] == 1


def test_columns_are_read_by_name_in_any_order() -> None:
    rows = (vm("H100", 8, 31.92, SpotPrice=9.0), vm("MI300X", 8, 16))
    assert prices(plan(*rows)) == prices(plan(*rows, columns=VMS[::-1]))


def test_a_host_row_without_its_gpus_is_no_price() -> None:
    host = {"InstanceType": "a3-highgpu-8g", "Price": 9.46, "Region": "us"}
    card = {"InstanceType": "", "AcceleratorName": "H100", "AcceleratorCount": 8, "Price": 78.0}
    plain = {"InstanceType": "n2-standard-8", "Price": 0.39, "Region": "us"}
    found = plan(host, card, plain)
    assert codes(found) == ["host_without_gpu", "gpu_without_host"]
    assert found.prices == () and found.ignored == {NO_GPU: 1}


@pytest.mark.parametrize(
    ("count", "trap"),
    [("", "count_blank"), (0, "count_blank"), ("0.5", "count_fraction"), ("x", "count_blank")],
)
def test_a_row_must_say_how_many_gpus(count: object, trap: str) -> None:
    assert codes(plan(vm("H100", count, 4))) == [trap]


def test_gpu_info_is_read_as_json_and_as_python_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    attack = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    rows = [vm("H100", 8, 32, GpuInfo=info("H100", 81920, json=j)) for j in (True, False)]
    found = plan(*rows, vm("H100", 8, 40, GpuInfo=attack))
    assert said(found)["info_unread"] == 1 and not mark.exists()
    assert [value for *_, value in prices(found)] == [4.0, 5.0]


@pytest.mark.parametrize(("size", "code"), [(80, "memory_gb"), (655360, "memory_node"), (81920, "")])
def test_the_unit_of_memory_is_recognised(size: float, code: str) -> None:
    found = plan(vm("H100", 8, 32, GpuInfo=info("H100", size)))
    assert prices(found) == [("h100-sxm", "on_demand", 4.0)]
    assert set(said(found)) - {"per_instance"} == ({code} if code else set())


def test_memory_of_another_card_is_no_price() -> None:
    assert codes(plan(vm("H100", 8, 32, GpuInfo=info("H100", 96256)))) == ["memory_mismatch"]


def test_a_spot_price_alone_and_a_list_price_alone() -> None:
    found = plan(vm("B200", 8, "", SpotPrice=13.69), vm("H100", 1, 3.29), vm("H100", 1, ""))
    assert prices(found) == [("b200-hgx", "spot", 1.71125), ("h100-sxm", "on_demand", 3.29)]
    assert codes(found) == ["no_price"] and said(found)["spot_only"] == 1


def test_spot_equal_to_the_list_price_is_dropped_and_the_list_price_stays() -> None:
    found = plan(vm("H100", 1, 3.0, SpotPrice=3.0), vm("H200", 1, 4.0, SpotPrice=2.5))
    assert prices(found) == [
        ("h100-sxm", "on_demand", 3.0),
        ("h200-sxm", "on_demand", 4.0),
        ("h200-sxm", "spot", 2.5),
    ]
    assert [row.code for row in found.dropped_spot] == ["spot_equals_list"]


def test_a_constant_ratio_is_a_formula_also_where_only_spot_is_given() -> None:
    rows = [
        vm(g, 1, p, SpotPrice=round(0.35 * p, 3)) for g, p in (("H100", 2.29), ("H200", 3.39), ("B300", 6.99))
    ]
    found = plan(*rows, vm("B200", 8, "", SpotPrice=13.69))
    assert {kind for _, kind, _ in prices(found)} == {"on_demand"}
    assert codes(found) == ["spot_constant_ratio"] and len(found.dropped_spot) == 3


def test_spot_above_the_list_price_is_dropped() -> None:
    base = {"location": "us", "gpu_count": 1, "gpu_name": "H200", "gpu_memory": 141, "instance_name": "x-sxm"}
    rows = [{**base, "price": 3, "spot": "False"}, {**base, "price": 4, "spot": "True"}]
    found = plan(*rows, columns=HUNT)
    assert prices(found) == [("h200-sxm", "on_demand", 3.0)] and codes(found) == ["spot_above_list"]


def test_one_dollar_for_different_gpus_is_a_floor() -> None:
    found = plan(vm("H200", 1, 1.0), vm("H100", 8, 8.0), vm("B200", 8, 32.0))
    assert codes(found) == ["floor_price", "floor_price"] and prices(found) == [
        ("b200-hgx", "on_demand", 4.0)
    ]
    one = plan(vm("MI300X", 8, 8.0))
    assert prices(one) == [("mi300x", "on_demand", 1.0)] and said(one)["floor_one"] == 1


def test_an_a100_without_80gb_is_another_card() -> None:
    found = plan(
        vm("A100", 8, 10, InstanceType="p4d.24xlarge"),
        vm("A100-80GB", 8, 16, InstanceType="gpu_8x_a100_80gb_sxm4"),
        vm("A100-80GB", 1, 1.39, GpuInfo=info("A100 PCIe", 80, 1), InstanceType="1x_SECURE"),
    )
    assert codes(found) == ["a100_40gb", "no_such_form"]
    assert prices(found) == [("a100-80gb-sxm", "on_demand", 2.0)]


@pytest.mark.parametrize(
    ("gpu", "instance", "platform"),
    [
        ("H100", "gpu_8x_h100_sxm5", "h100-sxm"),
        ("H100-MEGA-80GB", "x", "h100-sxm"),
        ("H100", "p5.48xlarge", "h100-sxm"),
        ("H100-SXM", "x", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "x", "h100-sxm"),
        ("H200", "p5e.48xlarge", "h200-sxm"),
        ("H200-NVL", "x", "h200-nvl"),
        ("GH200", "gpu_1x_gh200", "gh200"),
        ("GB200", "p6e-gb200.36xlarge", "gb200-nvl72"),
        ("MI300X", "x", "mi300x"),
        ("H100", "gpu_1x_h100_pcie", "no_such_form"),
        ("H100-NVL", "x", "no_such_form"),
        ("H100", "n3-H100x8", "form_factor"),
        ("H100", "A100_NVLINK", "form_factor"),
        ("L40S", "x", "unknown_gpu"),
        ("tpu-v5p-8", "TPU-VM", "tpu_slice"),
    ],
)
def test_gpu_names_lead_to_a_platform_or_to_the_reason_why_not(
    gpu: str, instance: str, platform: str
) -> None:
    found = plan(vm(gpu, 8, 24, InstanceType=instance))
    assert [p for p, *_ in prices(found)] + codes(found) == [platform]


def test_unknown_names_are_listed_and_a_person_may_name_the_platform() -> None:
    rows = (vm("H100", 1, 2.29, InstanceType="1H100"), vm("L40S", 1, 1.0), vm("L40S", 2, 2.0))
    found = plan(*rows)
    assert found.unknown == {"L40S": 2, "H100": 1} and found.prices == ()
    assert prices(plan(*rows, names={"H100": "h100-sxm"})) == [("h100-sxm", "on_demand", 2.29)]
    with pytest.raises(UserError, match="no platform"):
        plan(*rows, names={"H100": "h1000"})


def test_a_person_does_not_make_a_pcie_card_an_sxm_one() -> None:
    found = plan(vm("H100", 1, 2.0, InstanceType="gpu_1x_h100_pcie"), names={"H100": "h100-sxm"})
    assert codes(found) == ["no_such_form"]


def test_a_missing_form_factor_is_named_with_the_platforms_that_it_would_pick() -> None:
    found = plan(vm("H200", 8, 24.0, InstanceType="x8"), vm("L40S", 1, 1.0))
    assert found.unknown == {"H200": 1, "L40S": 1}
    assert found.offered == {"H200": ("h200-sxm", "h200-nvl"), "L40S": ()}
    assert found.reasons["H200"] == "What is missing is the form factor of H200 (SXM or NVL)."
    assert "PCIe" in plan(vm("H100", 8, 24.0, InstanceType="x8")).reasons["H100"]


def test_what_the_row_itself_says_of_the_form_wins_over_a_persons_name() -> None:
    rows = (vm("H200", 8, 24.0, InstanceType="x8"), vm("H200", 8, 16.0, InstanceType="h200_nvl_8"))
    found = plan(*rows, names={"H200": "h200-sxm"})
    assert sorted(prices(found)) == [("h200-nvl", "on_demand", 2.0), ("h200-sxm", "on_demand", 3.0)]


def test_seventeen_regions_with_one_price_are_one_offer() -> None:
    found = plan(
        *(vm("GH200", 1, 2.29, Region=f"r{i}") for i in range(17)), vm("GH200", 1, 2.49, Region="far")
    )
    assert [(p["value"], p["region"]) for p in found.prices] == [(2.29, "17 regions"), (2.49, "far")]
    assert said(found)["one_offer_many_rows"] == 16 and found.priced == 18
    assert len({p["price_id"] for p in found.prices}) == 2


def test_mi325x_with_288_gb_is_said() -> None:
    row = {"instance_name": "mi", "gpu_count": 8, "gpu_name": "MI325X", "gpu_memory": 288.0, "price": 16}
    found = plan({**row, "spot": "False"}, columns=HUNT)
    assert prices(found) == [("mi325x", "on_demand", 2.0)] and said(found)["mi325x_288"] == 1


def test_gpuhunt_tells_spot_by_a_column() -> None:
    base = {
        "location": "us",
        "gpu_count": 8,
        "gpu_name": "H100",
        "gpu_memory": 80.0,
        "instance_name": "h100.sxm",
    }
    found = plan({**base, "price": 24, "spot": "False"}, {**base, "price": 12, "spot": "True"}, columns=HUNT)
    assert prices(found) == [("h100-sxm", "on_demand", 3.0), ("h100-sxm", "spot", 1.5)]


def test_two_prices_of_one_instance_in_one_region_are_two_prices(store: Store) -> None:
    """Rows that differ in cores or disks alone: none may hide the other under a common id."""
    rows = [
        {"instance_name": "p5.48xlarge", "location": "us", "price": price, "gpu_count": 8, "gpu_name": "H100",
         "gpu_memory": 80}
        for price in (98.32, 90.0, 94.0)
    ]  # fmt: skip
    found = plan(*rows, columns=HUNT, provider="cloud")
    named = {str(row["price_id"]): row["value"] for row in found.prices}
    assert sorted(named.values()) == [11.25, 11.75, 12.29]
    assert [named[name] for name in sorted(named, key=lambda name: (len(name), name))] == [
        11.25,
        11.75,
        12.29,
    ]
    load(store, found)
    with store.view() as view:
        held = {p.value for p in view.catalogue.prices() if p.price_id in named}
    assert held == {11.25, 11.75, 12.29}


def test_a_slurm_list_prices_the_gpu_alone() -> None:
    columns = ["Region", "Zone", "PricePerVCPU", "PricePerMemoryGB", "AcceleratorName", "PricePerAccelerator"]
    found = plan(
        {"Region": "hall-1", "AcceleratorName": "B200", "PricePerAccelerator": 2.1},
        {"PricePerVCPU": 0.0, "PricePerAccelerator": 0.0},
        {"AcceleratorName": "B200", "PricePerAccelerator": 0.0},
        columns=columns,
        kind="contract_1y",
        provider="our hall",
    )
    assert prices(found) == [("b200-hgx", "contract_1y", 2.1)]
    assert codes(found) == ["no_gpu_named", "price_zero"] and said(found)["gpu_alone"] == 1
    assert found.prices[0]["price_id"] == "import-our-hall-b200-hgx-contract-1y"


def test_a_price_far_from_every_quote_is_said() -> None:
    assert said(plan(vm("H100", 1, 98.32)))["far_from_book"] == 1


def test_a_ragged_row_is_set_aside() -> None:
    data = table(VMS, vm("B200", 1, 5.0)) + b"one,two\n"
    found = plan_import(data, "list.csv", load_catalogue(), ImportChoices())
    assert (found.rows, found.priced, codes(found)) == (2, 1, ["ragged"])


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"", "no price list"), (b"a,b\n1,2\n", "no price list"), (b"\xff\xfe\x00", "UTF-8")],
)
def test_another_file_is_refused(data: bytes, word: str) -> None:
    with pytest.raises(UserError, match=word):
        plan_import(data, "x.csv", load_catalogue(), ImportChoices())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


def load(store: Store, found: ImportPlan, day: date = MAY, source: str = "the cloud's page") -> None:
    import_prices(store, found.prices, as_of=day, source=source, file=found.file, sha256=found.sha256)


def test_an_import_needs_a_source_and_is_one_decision(store: Store) -> None:
    found = plan(vm("B200", 8, 40.0), vm("MI300X", 8, 16.0), provider="acme")
    with pytest.raises(UserError, match="no source"):
        load(store, found, source=" ")
    load(store, found)
    with pytest.raises(UserError, match="was imported"):
        load(store, found)
    assert len(store.workspace.decisions(kinds=("price",))) == 1
    with store.view() as view:
        row = view.catalogue.versions_of("import-acme-b200-hgx-on-demand-box-sxm")[0]
        assert (row.value, row.as_of, row.status, row.source) == (
            5.0,
            "2026-05-01",
            "user",
            "the cloud's page",
        )
        assert view.catalogue.price_menu() == load_catalogue().price_menu()


def test_a_later_list_of_the_same_offers_is_their_history(store: Store) -> None:
    load(store, plan(vm("B200", 8, 40.0), provider="acme"))
    load(store, plan(vm("B200", 8, 44.0), provider="acme"), date(2026, 8, 1))
    with store.view() as view:
        found = view.catalogue.versions_of("import-acme-b200-hgx-on-demand-box-sxm")
    assert [(v.version, v.as_of, v.value) for v in found] == [(1, "2026-05-01", 5.0), (2, "2026-08-01", 5.5)]


def test_a_file_without_any_price_is_not_imported(store: Store) -> None:
    with pytest.raises(UserError, match="no price that can be used"):
        load(store, plan(vm("L40S", 1, 1.5)))
