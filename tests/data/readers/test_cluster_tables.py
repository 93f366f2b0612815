"""Inventories, pod requests and cluster totals: shares stay shares, blanks stay unknown."""

from datetime import datetime
from pathlib import Path

import pytest

from data.ingest import ingest_file
from data.readers.cluster_tables import ClusterSummaryReader, InventoryReader, PodRequestReader
from data.store import Store
from tests.data.readers.gpu_files import check_real, read, real_files, sureness

NODES, TOTALS, PODS = InventoryReader(), ClusterSummaryReader(), PodRequestReader()
POD_HEAD = "name,num_gpu,gpu_milli,pod_phase,creation_time,deletion_time,scheduled_time\n"


def test_an_inventory_counts_gpus_by_model(tmp_path: Path) -> None:
    text = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1,8,H100\nn1,64000,1,4,H100\nn2,64000,1,2,\n"
    text += "n3,1,1,x,A10\n"
    assert sureness(NODES, text, tmp_path / "b") >= 0.9
    batch = read(NODES, text, tmp_path)
    facts = batch.facts
    assert (facts["gpus"], facts["gpus[H100]"], facts["gpus[]"], facts["hosts"]) == (14, 12, 2, 4)
    assert facts["gpu_model"] == "H100"
    assert (batch.stored, sum(batch.ignored.values()), facts["missing_cells"]) == (0, 4, 1)
    assert [(one.line, one.column) for one in batch.set_aside] == [(5, "gpu")]


def test_pods_keep_shares_and_unknown_times(tmp_path: Path) -> None:
    text = POD_HEAD + (
        "p0,1,500,Running,0,7200,0\np1,2,1000,Succeeded,10,3700,100\n"
        "p2,1,1000,Pending,20,9000,\np3,0,0,Running,1,2,1\np4,1,1000,Failed,1,5,9\n"
    )
    assert sureness(PODS, text, tmp_path / "b") >= 0.9
    batch = read(PODS, text, tmp_path)
    facts, jobs = batch.facts, batch.tables["scheduler_jobs"]
    assert facts["gpu_hours"] == pytest.approx(0.5 * 2 + 2 * 1)
    assert jobs["gpus"].tolist() == [0.5, 2, 1, 0, 1]
    assert jobs["elapsed_s"].isna().tolist() == [False, False, True, False, True]
    assert jobs["started_at"].isna().all()
    assert (facts["records[pod_phase=Running]"], facts["missing_cells[scheduled_time]"]) == (2, 1)
    assert [one.reason for one in batch.set_aside] == ["the end is before the start"]
    assert (batch.stored, facts["jobs"], facts["gpus"]) == (5, 5, 4.5)


def test_pods_without_any_time_have_no_gpu_hours(tmp_path: Path) -> None:
    text = "instance_sn,role,app_name,gpu_request,gpu_limit,creation_time,scheduled_time,deletion_time\n"
    batch = read(PODS, text + "i0,HN,a,1,1,,,\ni1,CN,a,0,0,,,\n", tmp_path)
    assert batch.facts["gpu_hours"] is None
    assert (batch.facts["records[role=HN]"], batch.facts["missing_cells"]) == (1, 6)


def test_pods_with_real_times_and_a_name_twice(tmp_path: Path) -> None:
    text = POD_HEAD + (
        "p0,8,1000,Running,2026-01-01T00:00:00Z,2026-01-01T02:00:00Z,2026-01-01T01:00:00Z\n"
        "p0,8,1000,Succeeded,2026-01-01T00:00:00Z,2026-01-01T03:00:00Z,2026-01-01T01:00:00Z\n"
    )
    batch = read(PODS, text, tmp_path)
    jobs = batch.tables["scheduler_jobs"]
    assert jobs["started_at"].tolist() == [datetime(2026, 1, 1, 1)]
    assert (jobs["elapsed_s"].tolist(), jobs["state"].tolist()) == ([7200], ["Succeeded"])
    assert (batch.stored, batch.ignored) == (1, {"listed again further down": 1})


def test_jobs_with_workers_and_a_duration(tmp_path: Path) -> None:
    text = "job_name,organization,gpu_model,gpu_request,worker_num,submit_time,duration\nj,o,A10,1,4,5,1800\n"
    batch = read(PODS, text, tmp_path)
    assert batch.facts["gpu_hours"] == 2.0
    assert batch.tables["scheduler_jobs"].iloc[0][["gpu_model", "user_name", "gpus"]].tolist() == [
        "A10",
        "o",
        4,
    ]


def test_cluster_totals_stay_unknown_where_a_part_is_blank(tmp_path: Path) -> None:
    text = "id,job_num,complete_gpu_time,cancel_gpu_time,fail_gpu_time\nA,3,3600,3600,0\nB,2,3600,,\n"
    assert sureness(TOTALS, text, tmp_path / "b") >= 0.9
    batch = read(TOTALS, text, tmp_path)
    assert (batch.facts["gpu_hours[A]"], batch.facts["gpu_hours[B]"], batch.facts["gpu_hours"]) == (
        2,
        None,
        None,
    )
    assert (batch.stored, batch.facts["missing_cells"]) == (0, 2)


def test_pods_reach_the_table_of_jobs(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text(POD_HEAD + "p0,1,500,Running,0,7200,0\n", encoding="utf-8")
    ingest_file(store, path)
    with store.view() as view:
        rows = view.cursor.execute("SELECT job_id, gpus, elapsed_s, state FROM scheduler_jobs").fetchall()
    assert rows == [("p0", 0.5, 7200.0, "Running")]


@pytest.mark.parametrize("name", real_files("gpu/acmetrace_cluster", "gpu/alibaba_v", "gpu/alibaba_spot"))
def test_real_files(name: str, tmp_path: Path) -> None:
    reader = TOTALS if "cluster_summary" in name else NODES if "node" in name else PODS
    check_real(reader, name, tmp_path)
