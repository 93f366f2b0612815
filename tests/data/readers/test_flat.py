"""The engine for rows of raw keys: merging, attempts, running totals, rates and books."""

import math
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.flat_attempts import split
from data.logs.flat_rows import gaps_in, number_steps
from data.readers.base import SetAside
from tests.data.readers.flat_files import engine, phases, rows, steps
from tests.data.verl_files import spooled
from tests.examples import some

STEP = {
    "time/total": 10.0,
    "time/train": 4.0,
    "env/all/total_ac_tokens": 100.0,
    "env/all/total_ob_tokens": 50.0,
}


def tinker(*numbers: int, **more: float) -> list[Row]:
    return rows([{"step": n, **STEP, **more} for n in numbers])


def test_rows_of_one_step_are_one_step(tmp_path: Path) -> None:
    parts = [
        Row(0, {"time/step": 9.0, "time/forward_backward": 6.0}, 1),
        Row(0, {"perf/mfu": 25.0, "perf/peak_memory": math.nan}, 2),
        Row(0, {"perf/peak_memory": 2.0}, 3),
    ]
    batch = engine(parts, tmp_path, framework="prime-rl", pool="trainer")
    assert len(steps(batch)) == 1
    assert steps(batch)[["step_s", "mfu_frac", "mem_peak_bytes"]].to_numpy().tolist() == [[9.0, 0.25, 2**31]]
    assert (batch.records, batch.stored, batch.facts["missing_cells"]) == (3, 3, 1)
    assert len(batch.tables["metric_raw"]) == 4


def test_a_step_that_comes_again_with_other_values_is_a_restart(tmp_path: Path) -> None:
    first, second = tinker(0, 1, 2, 3), tinker(2, 3, 4)
    for row in second:
        row.values["time/total"] = 11.0
    batch = engine(first + second, tmp_path)
    assert steps(batch)[["attempt", "step"]].to_numpy().tolist() == [
        [1, 0], [1, 1], [1, 2], [1, 3], [2, 2], [2, 3], [2, 4],
    ]  # fmt: skip
    attempts = batch.tables["attempts"]
    assert attempts["resumed_from_step"].tolist()[1] == 1
    assert attempts["resumed_from_attempt"].tolist()[1] == 1
    assert attempts["status"].tolist() == ["failed", "unknown"]
    assert "starts at step 2" in attempts["cause"].iloc[0]
    assert batch.facts["step_seconds_sum"] == 73.0
    assert any("2 attempts" in text for text in batch.warnings)


def test_equal_rows_count_once(tmp_path: Path) -> None:
    batch = engine(tinker(0, 1) + tinker(0, 1), tmp_path)
    assert dict(batch.ignored) == {"the same record again": 2}
    assert (batch.records, batch.stored, len(steps(batch))) == (4, 2, 2)


def test_a_clock_that_goes_back_is_a_restart_although_steps_go_on(tmp_path: Path) -> None:
    parts = tinker(0, 1, 2, 3)
    for row, elapsed in zip(parts, (10.0, 20.0, 9.0, 19.0), strict=True):
        row.elapsed_s = elapsed
    batch = engine(parts, tmp_path)
    assert steps(batch)["attempt"].tolist() == [1, 1, 2, 2]
    assert batch.tables["attempts"]["elapsed_s"].tolist() == [20.0, 19.0]
    assert batch.facts["run_seconds"] == 39.0


def test_a_clock_that_starts_at_zero_again_is_a_restart(tmp_path: Path) -> None:
    parts = tinker(0, 1, 2)
    for row, elapsed in zip(parts, (10.0, 20.0, 0.0), strict=True):
        row.elapsed_s = elapsed
    assert steps(engine(parts, tmp_path))["attempt"].tolist() == [1, 1, 2]


def test_keys_too_long_for_a_metric_are_raw(tmp_path: Path) -> None:
    key = "val-core/" + "a/" * 20_000 + "acc/mean@1"
    batch = engine(rows([{"step": 1, **STEP, key: 0.5}]), tmp_path)
    assert "evals" not in batch.tables
    assert key in batch.unmapped


def test_a_late_evaluation_belongs_to_its_step(tmp_path: Path) -> None:
    late = Row(0, {"test/env/math/correct": 0.5}, 9)
    batch = engine([*tinker(0, 1), late], tmp_path)
    assert steps(batch)["attempt"].unique().tolist() == [1]
    assert batch.tables["evals"][["step", "benchmark", "metric"]].iloc[0].tolist() == [0, "math", "correct"]


def test_an_export_with_the_newest_row_first_is_no_chain_of_restarts(tmp_path: Path) -> None:
    batch = engine(tinker(3, 2, 1, 0), tmp_path)
    assert len(batch.tables["attempts"]) == 1
    assert steps(batch)["step"].tolist() == [0, 1, 2, 3]


def trl(*pairs: tuple[int, float]) -> list[Row]:
    return rows([{"step": n, "num_tokens": total, "completions/mean_length": 5.0} for n, total in pairs])


@pytest.mark.parametrize(
    ("pairs", "amounts", "total"),
    [
        (((1, 100), (2, 250), (3, 300)), [100, 150, 50], 300),
        (((10, 100), (20, 250)), [100, 150], 250),
        (((101, 1000), (102, 1300)), [None, 300], 1300),
        (((10, 400),), [None], 400),
        (((1, 100), (2, 40), (3, 60)), [100, None, 20], 60),
    ],
)
def test_running_totals(
    pairs: tuple[tuple[int, float], ...], amounts: list[float | None], total: float, tmp_path: Path
) -> None:
    batch = engine(trl(*pairs), tmp_path, framework="trl")
    found = [None if math.isnan(v) else v for v in steps(batch)["tok_total"].astype(float)]
    assert found == amounts
    assert batch.facts["tokens_total"] == total


def test_a_restored_total_goes_on_from_the_step_it_resumed_from(tmp_path: Path) -> None:
    parts = trl((1, 100), (2, 200), (3, 300)) + trl((3, 290), (4, 400))
    for row in parts[3:]:
        row.values["reward"] = 1.0
    for row in parts[:3]:
        row.values["reward"] = 0.5
    batch = engine(parts, tmp_path, framework="trl")
    assert steps(batch)[["attempt", "tok_total"]].to_numpy().tolist() == [
        [1, 100], [1, 100], [1, 100], [2, 90], [2, 110],
    ]  # fmt: skip
    assert batch.facts["tokens_total"] == 500.0


def test_calls_of_a_step_add_up(tmp_path: Path) -> None:
    key = "profiling/Time taken: MyTrainer.vLLM.generate"
    parts = [Row(1, {key: 2.0, "num_tokens": 10.0}, 1), Row(1, {key: 3.0}, 2), Row(2, {key: 4.0}, 3)]
    batch = engine(parts, tmp_path, framework="trl")
    assert phases(batch) == {"rollout": (9.0, "wall")}


def test_impossible_values_are_set_aside_with_line_and_key(tmp_path: Path) -> None:
    parts = [Row(1, {"time/step": -1.0, "time/forward_backward": 5.0, "perf/mfu": 120.0}, 7)]
    batch = engine(parts, tmp_path, framework="prime-rl")
    assert [(s.line, s.column, s.reason) for s in batch.set_aside] == [
        (7, "time/step", "negative"), (7, "perf/mfu", "a percentage outside 0..100"),
    ]  # fmt: skip
    assert batch.facts["step_seconds_sum"] is None
    assert batch.facts["mfu_mean"] is None


def test_without_a_clock_elapsed_is_the_sum_of_steps(tmp_path: Path) -> None:
    batch = engine(tinker(0, 1, 2), tmp_path)
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (30.0, "step_sum")
    assert batch.facts["run_seconds"] is None
    assert any("no clock" in text and "start-up" in text for text in batch.warnings)


def test_an_unknown_framework_keeps_raw_metrics_only(tmp_path: Path) -> None:
    batch = engine(rows([{"step": 1, "widget": 2.0}, {"step": 2, "widget": 3.0}]), tmp_path)
    assert "steps" not in batch.tables
    assert batch.tables["metric_raw"]["key"].tolist() == ["step", "widget"] * 2
    assert batch.facts["steps_count"] == 2
    assert any("framework is not known" in text for text in batch.warnings)


def test_verl_rows_split_their_tokens_exactly(tmp_path: Path) -> None:
    record = {
        "step": 1, "timing_s/step": 20.0, "timing_s/gen": 12.0, "timing_s/generate_sequences": 11.0,
        "perf/total_num_tokens": 6400, "prompt_length/mean": 20.0, "response_length/mean": 80.0,
        "perf/throughput": 20.0,
    }  # fmt: skip
    batch = engine(rows([record]), tmp_path)
    row = steps(batch).iloc[0]
    assert (row["rollouts"], row["tok_prompt"], row["tok_gen"]) == (64, 1280, 5120)
    assert phases(batch) == {"rollout": (12.0, "wall")}
    assert batch.facts["gpu_count_inferred"] == 16.0
    assert batch.tables["step_phases"]["pool"].tolist() == ["colocated"]


def test_two_processes_of_a_run_share_the_file(tmp_path: Path) -> None:
    trainer = [Row(n, {"time/step": 10.0, "time/forward_backward": 6.0}, n + 1) for n in (0, 1)]
    other = [Row(n, {"progress/tokens": 500.0, "progress/rollouts": 8.0}, n + 3) for n in (0, 1)]
    file = FlatFile("test", "test", 4)
    runs = [
        FlatRun("r", trainer, framework="prime-rl", pool="trainer"),
        FlatRun("r", other, framework="prime-rl", pool="orchestrator"),
    ]
    batch = make_batch(file, runs, spooled("x\n", tmp_path, "log.txt"))
    assert (batch.facts["runs"], batch.facts["run_names"], batch.facts["steps_count"]) == (1, "r", 2)
    assert batch.facts["tokens_total"] == 1000.0
    assert len(batch.tables["attempts"]) == 1


def test_books_of_the_reader_are_kept(tmp_path: Path) -> None:
    file = FlatFile(
        "test",
        "test",
        5,
        ignored=Counter(banner=1),
        set_aside=[SetAside(3, "damaged", "?")],
        warnings=["odd"],
    )
    batch = make_batch(file, [FlatRun("r", tinker(0, 1, 1))], spooled("x\n", tmp_path, "log.txt"))
    assert (batch.records, batch.stored, dict(batch.ignored)) == (
        5, 2, {"banner": 1, "the same record again": 1},
    )  # fmt: skip
    assert "odd" in batch.warnings


def test_a_row_that_lacks_the_counter_takes_the_log_counter_only_when_both_agree() -> None:
    def logged(*values: tuple[float, dict[str, float]]) -> list[Row]:
        return [Row(None, v, i, x_name="_step", x=x) for i, (x, v) in enumerate(values)]

    agreeing = logged((1, {"training/global_step": 1.0}), (2, {"val-core/a/acc/mean@1": 0.5}))
    assert number_steps(agreeing, "verl") == []
    assert [row.step for row in agreeing] == [1, 2]
    apart = logged((8, {"train/global_step": 1.0}), (9, {"train/loss": 0.5}))
    said = number_steps(apart, "trl")
    assert [row.step for row in apart] == [1, None]
    assert "numbers log calls" in said[0]
    assert "1 records have no trainer step" in said[1]


@pytest.mark.parametrize(
    ("numbers", "missing"), [([0, 1, 2], 0), ([0, 5, 10], 0), ([0, 1, 4], 2), ([7], 0), ([3, 3, 4], 0)]
)
def test_gaps_of_the_log_counter(numbers: list[int], missing: int) -> None:
    assert gaps_in(numbers) == missing


def test_times_of_an_attempt(tmp_path: Path) -> None:
    parts = tinker(0, 1)
    for row, elapsed in zip(parts, (10.0, 20.0), strict=True):
        row.elapsed_s = elapsed
        row.ts = datetime(2026, 1, 1, 0, 0, int(elapsed))
    batch = engine(parts, tmp_path)
    assert batch.facts["span_s"] == 10.0
    assert steps(batch)["elapsed_s"].tolist() == [10.0, 20.0]


@settings(max_examples=some(20), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 6)),
            st.dictionaries(st.sampled_from(["a", "b", "c"]), st.floats(-3, 3), max_size=3),
            st.one_of(st.none(), st.floats(0, 50)),
        ),
        max_size=25,
    )
)
def test_every_row_is_kept_or_repeated(
    given_rows: list[tuple[int | None, dict[str, float], float | None]],
) -> None:
    made = [Row(step, values, i, elapsed_s=clock) for i, (step, values, clock) in enumerate(given_rows)]
    attempts, repeated = split(made, frozenset("ab"), frozenset("abc"), frozenset("c"))
    assert sum(len(a.rows) for a in attempts) + repeated == len(made)
    assert [a.number for a in attempts] == list(range(1, len(attempts) + 1))
