"""Names of exporters' GPU metrics, file names as hints, and what a person says about a column."""

from pathlib import Path

import pytest

from data.errors import UserError
from data.gpu.metrics import (
    PERCENT_OR_RATIO,
    _metrics,
    chosen_metric,
    metric,
    metric_inside,
    metric_of_file,
    place,
)
from data.gpu.rollup import MEASURES
from data.ingest import ingest_file
from data.parse.values import UNITS
from data.readers.base import Choices
from data.store import Store


def test_every_name_has_a_measure_and_a_unit() -> None:
    for name, found in _metrics().items():
        assert found.measure in MEASURES, name
        assert found.unit in UNITS or found.unit == PERCENT_OR_RATIO, name


def test_percent_and_ratio_of_dcgm_are_kept_apart() -> None:
    for name, unit in [("DCGM_FI_DEV_GPU_UTIL", "%"), ("DCGM_FI_PROF_SM_ACTIVE", "ratio"),
                       ("DCGM_FI_PROF_SM_UTIL_RATIO", "ratio"), ("nv_gpu_utilization", "ratio"),
                       ("ray_node_gpus_utilization", "%")]:  # fmt: skip
        found = metric(name)
        assert found is not None and found.unit == unit
    assert metric("DCGM_FI_DEV_XID_ERRORS") is None
    assert metric("DCGM_FI_PROF_PCIE_TX_BYTES") is None
    assert metric(None) is None
    assert metric("dcgm_fi_dev_gpu_util") == metric("DCGM_FI_DEV_GPU_UTIL")
    energy = metric("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total")
    assert energy is not None and energy.unit == "mJ"


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("GPU_UTIL.csv", "gpu_util"),
        ("GPU Utilization-data-as-joinbyfield-2026-01-01 10_00_00.csv", "gpu_util"),
        ("pod_gpu_duty_cycle_anon.csv", "gpu_util"),
        ("SM_ACTIVE.csv", "sm_active"),
        ("PIPE_TENSOR_ACTIVE.csv", "tensor_active"),
        ("NODE_CPU_UTILIZATION.csv", None),
        ("cpu_util_of_gpu_util_nodes.csv", None),
        ("panel.csv", None),
    ],
)
def test_hints_of_file_names(name: str, measure: str | None) -> None:
    found = metric_of_file(name)
    assert (found.measure if found else None) == measure


def test_metric_names_inside_text() -> None:
    found = metric_inside("avg DCGM_FI_DEV_POWER_USAGE by gpu")
    assert found is not None and found[1].measure == "power_w"
    assert metric_inside("MY_DCGM_FI_DEV_POWER_USAGE") is None


def test_labels_of_a_place() -> None:
    found = place({"device": "nvidia3", "Hostname": "n", "exported_pod": "train", "pod": "exporter"})
    assert found.gpu is not None and (found.gpu.index, found.gpu.host, found.pod) == ("3", "n", "train")
    assert place({"Hostname": "n"}).gpu is None
    mig = place({"gpu": "0", "UUID": "MIG-1", "Hostname": "n"})
    assert mig.mig and mig.gpu is not None and mig.gpu.uuid is None


def test_what_a_person_chooses() -> None:
    choices = Choices(
        columns={"a": "gpu_samples.sm_active [%]", "3": "power_w", "b": "ignore", "c": "gpu_util [zz]"}
    )
    found = chosen_metric(choices, "a")
    assert found is not None and (found.measure, found.unit) == ("sm_active", "%")
    by_number = chosen_metric(choices, "x", "3")
    assert by_number is not None and by_number.unit == "W"
    assert chosen_metric(choices, "b") is None and chosen_metric(choices, "d") is None
    with pytest.raises(UserError, match="zz"):
        chosen_metric(choices, "c")


def test_one_metric_a_file_fills_the_same_samples(store: Store, tmp_path: Path) -> None:
    labels = 'gpu="0",UUID="GPU-a",Hostname="n1"'
    for name, values in (("DCGM_FI_DEV_GPU_UTIL", (50, 70)), ("DCGM_FI_DEV_POWER_USAGE", (300, 400))):
        lines = (f"{name}{{{labels}}} {v} {1767225600000 + 15000 * i}\n" for i, v in enumerate(values))
        path = tmp_path / f"{name}.prom"
        path.write_text("".join(lines), encoding="utf-8")
        assert ingest_file(store, path).stored == 2
    with store.view() as view:
        rows = view.cursor.execute(
            "SELECT measure, sum(weighted_sum) / sum(known_s), sum(known_s) FROM gpu_minutes "
            "WHERE known_s > 0 GROUP BY measure ORDER BY measure"
        ).fetchall()
        gpus = view.cursor.execute("SELECT gpu_id, host, uuid, gpu_index FROM gpus").fetchall()
    assert rows == [("gpu_util", pytest.approx(0.5), 15), ("power_w", pytest.approx(300), 15)]
    assert gpus == [("GPU-a", "n1", "GPU-a", 0)]
