"""What the scheduler says of a run's GPUs is proposed, with its reason, and counts only once it is saved."""

import io

import pytest

from data.catalogue import load_catalogue
from data.ingest import ingest_file
from data.job_details import job_hints, model_words
from data.readers.base import Choices
from data.run_details import SCHEDULER, PoolDetails, RunDetails, missing_for_cost, proposals, save_details
from tests.data.fakes import steps_csv
from tests.examples import in_turn
from tests.samples import verl_log

HEAD = "JobID|JobName|State|Start|End|AllocTRES|NNodes\n"


def sacct(*jobs: str) -> io.BytesIO:
    return io.BytesIO((HEAD + "".join(f"{job}\n" for job in jobs)).encode())


def job(number: int, first: str, last: str, tres: str, nodes: int = 2) -> str:
    return f"{number}|rl|COMPLETED|2026-03-02T{first}|2026-03-02T{last}|{tres}|{nodes}"


def hints(store, *jobs: str) -> dict[str, tuple[object, str]]:
    ingest_file(store, sacct(*jobs), "jobs.txt", Choices(run="r"))
    with store.view() as view:
        return {name: (value, how) for name, value, how in job_hints(view.rows, "r", view.catalogue)}


def words(store, tres: str) -> str:
    ingest_file(store, sacct(job(1, "00:00:00", "01:00:00", tres)), "jobs.txt", Choices(run="r"))
    with store.view() as view:
        return model_words(view.rows, "r", load_catalogue())


def test_the_gpus_and_the_model_of_a_job_are_proposed_and_count_only_when_saved(store) -> None:
    ingest_file(store, io.BytesIO(verl_log(1, 5).encode()), "train.log")
    jobs = sacct(job(4711, "00:00:00", "10:00:00", "billing=9,gres/gpu:h100=16"))
    ingest_file(store, jobs, "jobs.txt", Choices(run="grpo-sample"))
    found = {s.field: s for s in proposals(store, "grpo-sample")}
    assert (found["gpus"].value, found["gpus"].source) == (16, SCHEDULER)
    assert "job 4711 held 16 GPUs (h100) on 2 nodes" in found["gpus"].how
    assert (found["platform"].value, found["platform"].source) == ("h100-sxm", SCHEDULER)
    assert "so choose otherwise" in found["platform"].how
    lacking = {m.field: m for m in missing_for_cost(store, "grpo-sample")}
    assert (lacking["gpus"].proposal, lacking["platform"].proposal) == (16, "h100-sxm")
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM allocations") == [(0,)]
    own = PoolDetails(pool="all", role="colocated", platform="h200-nvl", gpus=12)
    save_details(store, RunDetails(run="grpo-sample", pools=[own]))
    with store.view() as view:
        assert view.rows("SELECT DISTINCT platform, gpus FROM allocations") == [("h200-nvl", 12.0)]


@pytest.mark.usefixtures("fake_readers")
def test_what_a_log_counts_is_told_beside_what_the_scheduler_gave(store) -> None:
    ingest_file(store, steps_csv([(1, 10.0, 5.0)]), "run.csv")
    assert [(s.value, s.source) for s in proposals(store, "run")] == [(8, "files")]
    with store.transaction() as con:
        con.execute(
            "INSERT INTO scheduler_jobs BY NAME SELECT '7' AS job_id, 'rl' AS name, 16.0 AS gpus, "
            "'run' AS run, upload_id FROM uploads"
        )
    (told,) = proposals(store, "run")
    assert (told.value, told.source) == (16, SCHEDULER)
    assert told.how == "job 7 held 16 GPUs; the log says 8: for tests"


@pytest.mark.parametrize(
    ("jobs", "gpus", "said"),
    [
        ([(0, 2, 8), (2, 9, 8)], 8, "held 8 GPUs each"),
        ([(0, 9, 8), (1, 9, 16)], 24, "held 8 to 16 GPUs each"),
        ([(0, 4, 8), (5, 9, 16)], 16, "at most 16 at one time"),
        ([(0, 2, 8), (1, 3, 4), (2, 4, 8)], 12, "at most 12 at one time"),
    ],
)
def test_jobs_beside_each_other_add_up_and_jobs_in_a_row_do_not(store, jobs, gpus, said) -> None:
    rows = [job(n, f"0{a}:00:00", f"0{b}:00:00", f"gres/gpu={held}") for n, (a, b, held) in enumerate(jobs)]
    value, how = hints(store, *rows)["gpus"]
    assert value == gpus and said in how


def test_jobs_whose_times_nobody_knows_propose_no_count(store) -> None:
    rows = [f"{n}|rl|PENDING|Unknown|Unknown|gres/gpu=8|1" for n in (1, 2)]
    assert hints(store, *rows) == {}


@pytest.mark.parametrize(
    ("model", "platform"),
    in_turn(
        [
            ("h100", "h100-sxm"),
            ("nvidia_h100_80gb_hbm3", "h100-sxm"),
            ("nvidia_h200", "h200-sxm"),
            ("h200_nvl", "h200-nvl"),
            ("a100_80gb", "a100-80gb-sxm"),
            ("gb200", "gb200-nvl72"),
            ("mi300x", "mi300x"),
            ("h200", None),
            ("a100", None),
            ("h100_pcie", None),
            ("v100", None),
        ],
        of=2,
    ),
)
def test_a_model_is_a_platform_only_where_it_can_be_no_other(store, model, platform) -> None:
    found = hints(store, job(1, "00:00:00", "01:00:00", f"gres/gpu:{model}=8"))
    assert found.get("platform", (None,))[0] == platform


@pytest.mark.parametrize(
    ("tres", "said"),
    [
        ("gres/gpu:h200=8", "form factor of h200 (SXM or NVL). Choose H200 SXM or H200 NVL."),
        ("gres/gpu:a100=8", "40 or 80 GB: choose A100 80GB SXM if it is that."),
        ("gres/gpu:v100=8", "no platform that is called v100"),
        ("gres/gpu:h100=8,gres/gpu:a100=4", "several GPU models: a100, h100"),
        ("gres/gpu:1g.10gb=4", "part of a GPU"),
    ],
)
def test_a_model_that_is_no_platform_says_what_is_missing(store, tres, said) -> None:
    assert said in words(store, tres)


def test_parts_of_a_gpu_are_no_gpus(store) -> None:
    assert hints(store, job(1, "00:00:00", "01:00:00", "gres/gpu:1g.10gb=4")) == {}


def test_the_missing_platform_says_which_form_factors_there_are(store) -> None:
    ingest_file(store, io.BytesIO(verl_log(1, 5).encode()), "train.log")
    jobs = sacct(job(1, "00:00:00", "10:00:00", "gres/gpu:h200=8"))
    ingest_file(store, jobs, "jobs.txt", Choices(run="grpo-sample"))
    (platform,) = [m for m in missing_for_cost(store, "grpo-sample") if m.field == "platform"]
    assert platform.proposal is None and "Choose H200 SXM or H200 NVL." in platform.text
