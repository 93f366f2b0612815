"""Tables whose columns a person mapped: units, running totals, percentages, zones, and what is left over."""

import json
import random
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError, UserError
from data.mapping.language import MappingError, header_hash, make_plan
from data.readers.base import Batch, Choices
from data.readers.mapped import MappedTableReader
from tests.examples import in_turn

STEPS = (
    "it;dur;gen;toks so far;ok %;when;gsm;weird\n"
    "1;2000;1500;1000;40;03.02.2026 10:00:00;51.5;7\n"
    "2;2500;1600;2500;45;03.02.2026 10:00:03;;8\n"
    "3;2400;1700;4100;120;03.02.2026 10:00:06;52.0;x\n"
)
STEP_MAP = {
    "it": "steps.step",
    "dur": "steps.step_s|unit=ms",
    "gen": "step_phases.rollout|unit=ms",
    "toks so far": "steps.tok_total|basis=cumulative",
    "ok %": "steps.truncated_frac|unit=%",
    "when": "steps.ts|unit=day/month/year",
    "gsm": "evals.score|unit=%|benchmark=gsm8k",
}


def read(tmp_path: Path, content: str | bytes, columns: dict[str, str], **choices: object) -> Batch:
    data = content.encode() if isinstance(content, str) else content
    source = spool_bytes(data, "odd.csv", tmp_path / "spool")
    decided = Choices(format="mapped_table", columns=columns, **choices)  # type: ignore[arg-type]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return MappedTableReader().read(source, decided, scratch)


def test_a_training_log_in_ms_percent_and_running_totals(tmp_path: Path) -> None:
    batch = read(tmp_path, STEPS, STEP_MAP, timezone="Europe/Berlin", run="mine")
    steps = batch.tables["steps"].set_index("step")
    assert steps["step_s"].tolist() == [2.0, 2.5, 2.4]
    assert steps["tok_total"].tolist() == [1000.0, 1500.0, 1600.0]
    assert steps["truncated_frac"].tolist()[:2] == [0.40, 0.45]
    assert pd.isna(steps["truncated_frac"][3])
    assert steps["ts"][1] == pd.Timestamp("2026-02-03 09:00:00")
    assert set(steps["run"]) == {"mine"}
    phases = batch.tables["step_phases"]
    assert phases["seconds"].tolist() == [1.5, 1.6, 1.7]
    assert set(phases["phase"]) == {"rollout"}
    assert set(phases["source_key"]) == {"gen"}
    evals = batch.tables["evals"]
    assert evals["score"].tolist() == [0.515, 0.52]
    assert evals["step"].tolist() == [1, 3]
    assert set(evals["benchmark"]) == {"gsm8k"}
    assert (batch.records, batch.stored, batch.timezone, batch.timezone_assumed) == (
        3,
        3,
        "Europe/Berlin",
        False,
    )


def test_stamps_are_the_clock_of_a_run_without_one(tmp_path: Path) -> None:
    attempt = read(tmp_path, STEPS, STEP_MAP).tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (6.0 + 2.0, "clock")
    assert attempt["started_at"] == pd.Timestamp("2026-02-03 09:59:58")


def test_each_attempt_of_a_stamped_log_has_a_clock_of_its_own(tmp_path: Path) -> None:
    content = "it,sec,at\n1,5,2026-01-01 10:00:00\n2,5,2026-01-01 10:00:05\n1,6,2026-01-02 10:00:00\n"
    columns = {"it": "steps.step", "sec": "steps.step_s", "at": "steps.ts"}
    attempts = read(tmp_path, content, columns).tables["attempts"]
    assert attempts["elapsed_s"].tolist() == [10.0, 6.0]
    assert set(attempts["elapsed_basis"]) == {"clock"}


def test_what_nobody_mapped_is_a_raw_metric_and_a_bad_cell_is_set_aside_alone(tmp_path: Path) -> None:
    batch = read(tmp_path, STEPS, STEP_MAP)
    raw = batch.tables["metric_raw"]
    assert raw[raw["key"] == "weird"][["step", "value"]].to_numpy().tolist() == [[1, 7.0], [2, 8.0]]
    assert "dur" not in set(raw["key"]), "a converted number is no number of the file"
    assert set(raw[raw["key"] == "toks so far"]["value"]) == {1000.0, 2500.0, 4100.0}
    aside = [(s.line, s.column) for s in batch.set_aside]
    assert aside == [(4, "ok %")]
    assert batch.unmapped == ["weird"]
    assert any("weird (1)" in text for text in batch.warnings)
    assert set(batch.tables["steps"]["run"]) == {"odd"}
    assert batch.timezone_assumed


def test_rows_may_be_numbered_and_runs_come_from_a_column(tmp_path: Path) -> None:
    content = "exp,R\na,0.1\na,0.2\nb,0.3\n"
    columns = {"#row": "steps.step", "exp": "steps.run", "R": "steps.reward_mean"}
    steps = read(tmp_path, content, columns).tables["steps"]
    assert steps[["run", "step", "reward_mean"]].to_numpy().tolist() == [
        ["a", 1, 0.1],
        ["a", 2, 0.2],
        ["b", 1, 0.3],
    ]


def test_a_counter_that_starts_again_opens_an_attempt(tmp_path: Path) -> None:
    content = "it,sec,toks\n1,5,100\n2,5,200\n3,5,300\n2,6,200\n3,7,320\n"
    columns = {"it": "steps.step", "sec": "steps.step_s", "toks": "steps.tok_gen|basis=cumulative"}
    steps = read(tmp_path, content, columns).tables["steps"]
    assert steps["attempt"].tolist() == [1, 1, 1, 2, 2]
    assert steps["tok_gen"].tolist()[:3] == [100.0, 100.0, 100.0]
    assert steps["tok_gen"].tolist()[4] == 120.0


def test_a_row_without_a_step_is_set_aside_whole(tmp_path: Path) -> None:
    batch = read(tmp_path, "it,sec\n1,5\nmean,5\n2.5,5\n", {"it": "steps.step", "sec": "steps.step_s"})
    assert (batch.records, batch.stored, [s.line for s in batch.set_aside]) == (3, 1, [3, 4])


GPUS = (
    "clock\tnode\tcard\tload\tdraw\tfb\n"
    "1770112800000\tn1\t0\t97\t512000\t40960\n"
    "1770112801000\tn1\t0\t\t480000\t40960\n"
)
GPU_MAP = {
    "clock": "gpu_samples.ts|unit=epoch ms",
    "node": "gpu_samples.host",
    "card": "gpu_samples.gpu_index",
    "load": "gpu_samples.gpu_util|unit=%",
    "draw": "gpu_samples.power_w|unit=mW",
    "fb": "gpu_samples.mem_bytes|unit=MiB",
}


@pytest.mark.parametrize("unit", ["|unit=epoch ms", ""], ids=["written out", "in bulk"])
def test_gpu_samples_in_percent_mw_and_mib(tmp_path: Path, unit: str) -> None:
    batch = read(tmp_path, GPUS, {**GPU_MAP, "clock": f"gpu_samples.ts{unit}"})
    part = pd.read_parquet(batch.gpu_parts[0]).sort_values("ts")
    assert part["gpu_util"].iloc[0] == 0.97
    assert pd.isna(part["gpu_util"].iloc[1])
    assert part["power_w"].tolist() == [512.0, 480.0]
    assert part["mem_bytes"].tolist() == [40960 * 2**20] * 2
    assert part["ts"].iloc[0] == pd.Timestamp("2026-02-03 10:00:00")
    assert set(part["gpu_id"]) == {"n1:0"}
    assert (batch.records, batch.stored, batch.format) == (2, 2, "mapped_table")


def test_gpu_samples_of_a_typed_host_in_local_time(tmp_path: Path) -> None:
    columns = {"t": "gpu_samples.ts", "id": "gpu_samples.gpu_index", "u": "gpu_samples.gpu_util"}
    content = "t,id,u\n2026-07-01 12:00:00,3,0.5\n2026-07-01 12:00:01,3,1.5\n"
    batch = read(tmp_path, content, columns, host="box", timezone="+02:00")
    part = pd.read_parquet(batch.gpu_parts[0])
    assert part["ts"].min() == pd.Timestamp("2026-07-01 10:00:00")
    assert set(part["gpu_id"]) == {"box:3"}
    assert [(s.line, s.column) for s in batch.set_aside] == [(3, "u")]


def test_gpu_samples_in_parquet_and_json_lines(tmp_path: Path) -> None:
    rows = [
        {"t": 1770112800.5, "m": {"util": 50, "w": 300.0}},
        {"t": 1770112801.5, "m": {"util": 60, "w": 310.0}},
    ]
    columns = {
        "t": "gpu_samples.ts",
        "m.util": "gpu_samples.gpu_util|unit=%",
        "m.w": "gpu_samples.power_w",
    }
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "odd.parquet")
    lines = "\n".join(json.dumps(row) for row in rows) + "\n"
    for place, content in (("a", (tmp_path / "odd.parquet").read_bytes()), ("b", lines.encode())):
        folder = tmp_path / place
        folder.mkdir()
        part = pd.read_parquet(read(folder, content, columns).gpu_parts[0])
        assert sorted(part["gpu_util"]) == [0.5, 0.6]
        assert sorted(part["power_w"]) == [300.0, 310.0]


def test_results_by_task_make_their_evaluation(tmp_path: Path) -> None:
    content = "q,verdict,set\n1,solved,aime\n2,failed,aime\n3,solved,aime\n3,failed,aime\n"
    columns = {"q": "eval_tasks.task", "verdict": "eval_tasks.passed", "set": "eval_tasks.benchmark"}
    batch = read(tmp_path, content, columns, run="r", step=5)
    assert batch.tables["evals"][["benchmark", "score", "checkpoint"]].to_numpy().tolist() == [
        ["aime", 0.5, "r@5"]
    ]
    assert len(batch.tables["eval_tasks"]) == 4
    percent = {"q": "eval_tasks.task", "p": "eval_tasks.passed|unit=%", "=math": "eval_tasks.benchmark"}
    (tmp_path / "x").mkdir()
    batch = read(tmp_path / "x", "q,p\n1,25\n2,75\n", percent)
    assert batch.tables["evals"]["score"].tolist() == [0.5]
    assert batch.tables["evals"]["benchmark"].tolist() == ["math"]


def test_evaluations_with_a_fixed_benchmark(tmp_path: Path) -> None:
    columns = {"at step": "evals.step", "acc": "evals.score|unit=%", "=aime25": "evals.benchmark"}
    evals = read(tmp_path, "at step,acc\n10,33.5\n20,41\n", columns, run="r").tables["evals"]
    assert evals[["checkpoint", "score", "benchmark"]].to_numpy().tolist() == [
        ["r@10", 0.335, "aime25"],
        ["r@20", 0.41, "aime25"],
    ]


def test_costs_jobs_and_sandbox_calls(tmp_path: Path) -> None:
    cases = {
        "costs": (
            "d,eur\n2026-02-01,12.5\n",
            {"d": "costs.day", "eur": "costs.billed_cost", "=EUR": "costs.currency"},
        ),
        "scheduler_jobs": (
            "nr,took\n17,1-00:00:10\n",
            {"nr": "scheduler_jobs.job_id", "took": "scheduler_jobs.elapsed_s|unit=d-hh:mm:ss"},
        ),
        "env_events": ("w,good\n250,yes\n", {"w": "env_events.busy_s|unit=ms", "good": "env_events.ok"}),
    }
    found = {}
    for name, (content, columns) in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        found[name] = read(folder, content, columns, run="r").tables[name].iloc[0]
    assert (found["costs"]["billed_cost"], found["costs"]["currency"], found["costs"]["run"]) == (
        12.5,
        "EUR",
        "r",
    )
    assert (found["scheduler_jobs"]["job_id"], found["scheduler_jobs"]["elapsed_s"]) == ("17", 86410.0)
    assert (found["env_events"]["busy_s"], found["env_events"]["ok"], found["env_events"]["env"]) == (
        0.25,
        True,
        "odd",
    )


def test_phases_in_long_form(tmp_path: Path) -> None:
    content = "n,what,minutes,who\n1,rollout,2,a\n1,train,0.5,a\n1,lunch,9,a\n"
    columns = {
        "n": "step_phases.step",
        "what": "step_phases.phase",
        "minutes": "step_phases.seconds|unit=min",
    }
    batch = read(tmp_path, content, columns)
    assert batch.facts["missing_cells"] == 0
    assert batch.tables["step_phases"]["seconds"].tolist() == [120.0, 30.0]
    assert [s.line for s in batch.set_aside] == [4]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"a": "steps.nothing"}, "no field"),
        ({"a": "steps.step", "b": "steps.step_s|unit=MiB"}, "no unit"),
        ({"a": "steps.step", "b": "steps.step"}, "both mapped"),
        ({"a": "steps.step", "b": "gpu_samples.power_w"}, "cannot be a training step"),
        ({"b": "steps.step_s"}, "needs step"),
        ({"a": "steps.step", "b": "steps.reward_mean|basis=cumulative"}, "says nothing"),
        ({"a": "steps.step", "b": "steps.step_s|colour=red"}, "says nothing"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(columns: dict[str, str], says: str) -> None:
    with pytest.raises(MappingError) as caught:
        make_plan(columns)
    assert says in caught.value.what


def test_a_mapped_column_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read(tmp_path, "a,b\n1,2\n", {"a": "steps.step", "c": "steps.step_s"})
    assert "'c'" in caught.value.what
    assert "a, b" in caught.value.remedy


def test_the_same_columns_in_another_order_share_a_mapping() -> None:
    assert header_hash(["a", "b", ""]) == header_hash(["b", "a"])
    assert header_hash(["a", "b"]) != header_hash(["a,b"])


def _mutated(text: str, rng: random.Random) -> bytes:
    """A damaged copy: cut, doubled or shuffled rows, odd bytes, text among the rows, broken quotes."""
    head, *rows = text.splitlines(keepends=True)
    match rng.randrange(6):
        case 0:
            text = text[: rng.randrange(len(text))]
        case 1:
            text = head + "".join(rng.choices(rows, k=len(rows) + 3))
        case 2:
            place = rng.randrange(len(text))
            text = (
                text[:place]
                + rng.choice(['"', "\x00", "\r", ";", "\n", "nan", "9" * 400, "\x1b[0m"])
                + text[place:]
            )
        case 3:
            rows.insert(rng.randrange(len(rows)), "Traceback (most recent call last):\n")
            text = head + "".join(rows)
        case 4:
            text = head + "".join(rows * 3) + head + rows[0]
        case _:
            return text.encode("utf-16")
    return text.encode()


@pytest.mark.parametrize("seed", in_turn(range(60), of=2))
def test_damaged_tables_never_lose_a_record_unsaid(seed: int) -> None:
    rng = random.Random(seed)
    text, columns = rng.choice([(STEPS, STEP_MAP), (GPUS, GPU_MAP)])
    with tempfile.TemporaryDirectory() as folder:
        try:
            batch = read(Path(folder), _mutated(text, rng), columns)
        except UserError:
            return
        whole = sum(1 for one in batch.set_aside if one.column is None)
        assert batch.records == batch.stored + whole + sum(batch.ignored.values())
