"""Exports of W&B charts: axes, run names, blanks, bands, and several charts of one run."""

import csv
import io
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.logs.wandb_header import judge_header, parse_header
from data.readers.base import Batch, Choices
from data.readers.wandb_chart import WandbChartReader
from tests.data.verl_files import spooled
from tests.examples import some

RUN = "grpo - lr 1e-6 - seed.2"
KEY = "val-core/openai/gsm8k/acc/mean@1"


def chart(x: str, rows: list[list[object]], *columns: str, bands: bool = True) -> str:
    """A quoted export; every value column gets an equal __MIN and __MAX."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    header, body = [x], [[row[0]] for row in rows]
    for index, name in enumerate(columns, start=1):
        extra = [f"{name}__MIN", f"{name}__MAX"] if bands else []
        header += [name, *extra]
        for line, row in zip(body, rows, strict=True):
            line += [row[index]] * (1 + len(extra))
    writer.writerow(header)
    writer.writerows(body)
    return out.getvalue()


def read(text: str, folder: Path, choices: Choices | None = None) -> Batch:
    return WandbChartReader().read(spooled(text, folder, "chart.csv"), choices or Choices(), folder)


def test_run_names_may_hold_the_separator() -> None:
    header = parse_header(
        ("Step", f"{RUN} - {KEY}", f"{RUN} - {KEY}__MIN", f"{RUN} - {KEY}__MAX", "b - _step")
    )
    assert header.runs == [RUN, "b"]
    assert [(s.run, s.key, s.low, s.high) for s in header.series] == [
        (RUN, KEY, 2, 3),
        ("b", "_step", -1, -1),
    ]


def test_facts_by_hand(tmp_path: Path) -> None:
    rows: list[list[object]] = [[0, 0.5, 10], [5, 0.75, ""], [10, "", 40], [15, "NaN", ""]]
    batch = read(chart("Step", rows, f"{RUN} - {KEY}", "short - tok/s"), tmp_path)
    facts = batch.facts
    assert (facts["runs"], facts["run_names"], facts["columns"]) == (2, f"{RUN};short", 7)
    assert (batch.records, batch.stored, dict(batch.ignored)) == (4, 3, {"no point in any run": 1})
    assert facts[f"series_points[{RUN}|{KEY}]"] == 2
    assert facts[f"missing_cells[{RUN}|{KEY}]"] == 2
    assert facts["missing_cells"] == 12
    assert facts[f"series_mean[{RUN}|{KEY}]"] == 0.625
    assert facts["series_mean[short|tok/s]"] == 25.0
    assert facts["series_last[short|tok/s]"] == 40.0
    assert facts[f"eval_score[openai/gsm8k|{RUN}]"] == 0.75
    assert (facts["step_first[short]"], facts["step_last[short]"], facts["steps_count"]) == (0, 10, 3)
    evals = batch.tables["evals"]
    assert evals["checkpoint"].tolist() == [f"{RUN}@0", f"{RUN}@5"]
    assert len(batch.tables["metric_raw"]) == 4
    assert "steps" not in batch.tables


def test_known_keys_become_steps_and_phases(tmp_path: Path) -> None:
    keys = [
        "timing_s/step",
        "timing_s/gen",
        "perf/total_num_tokens",
        "perf/throughput",
        "critic/rewards/mean",
    ]
    rows: list[list[object]] = [[s, 20.0, 12.0, 6400, 40.0, 0.1 * s] for s in (1, 2)]
    batch = read(chart("Step", rows, *[f"r - {key}" for key in keys]), tmp_path)
    steps = batch.tables["steps"]
    assert (steps["source"] == "wandb").all()
    assert steps["step_s"].tolist() == [20.0, 20.0]
    assert batch.facts["gpu_count_inferred"] == 8.0
    assert batch.facts["phase_seconds[rollout]"] == 24.0
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"], attempt["status"]) == (
        40.0,
        "step_sum",
        "unknown",
    )
    assert batch.tables["runs"].iloc[0]["framework"] == "verl"


def test_charts_of_one_run_give_partial_rows_of_the_same_steps(tmp_path: Path) -> None:
    time = read(chart("Step", [[1, 20.0], [2, 21.0]], "r - timing_s/step"), tmp_path)
    reward = read(chart("Step", [[1, 0.1], [2, 0.2]], "r - critic/rewards/mean"), tmp_path)
    keys = ["run", "attempt", "step", "source"]
    left, right = (b.tables["steps"].set_index(keys) for b in (time, reward))
    assert left.index.tolist() == right.index.tolist()
    both = left.combine_first(right)
    assert both["step_s"].tolist() == [20.0, 21.0]
    assert both["reward_mean"].tolist() == [0.1, 0.2]
    assert left["reward_mean"].isna().all()


def test_time_axis_without_step_keeps_raw_points_only(tmp_path: Path) -> None:
    batch = read(chart("Relative Time (Process)", [[1.5, 0.5], [3.5, 0.6]], f"r - {KEY}"), tmp_path)
    raw = batch.tables["metric_raw"]
    assert raw["step"].isna().all()
    assert raw["x"].tolist() == [1.5, 3.5]
    assert (raw["x_name"] == "Relative Time (Process)").all()
    assert "evals" not in batch.tables
    assert any("without a step" in text for text in batch.warnings)
    assert batch.facts["steps_count"] is None
    assert batch.facts["run_seconds"] == 3.5
    assert batch.tables["attempts"].iloc[0]["elapsed_basis"] == "progress_bar"


def test_time_axis_with_step_columns(tmp_path: Path) -> None:
    rows: list[list[object]] = [[10.0, 0.5, 1, "", ""], [12.0, "", "", 0.1, 3], [30.0, 0.7, 2, "", ""]]
    batch = read(
        chart(
            "Relative Time (Process)", rows, f"a - {KEY}", "a - _step", "b - critic/rewards/mean", "b - _step"
        ),
        tmp_path,
    )
    assert batch.tables["evals"][["run", "step", "score"]].values.tolist() == [["a", 1, 0.5], ["a", 2, 0.7]]
    row = batch.tables["steps"].iloc[0]
    assert (row["run"], row["step"], row["elapsed_s"]) == ("b", 3, 12.0)
    assert batch.warnings == []


def test_the_trainers_step_wins_over_the_log_counter(tmp_path: Path) -> None:
    rows: list[list[object]] = [[17, 0.5, 1], [34, 0.6, 2]]
    batch = read(chart("Step", rows, "r - critic/rewards/mean", "r - training/global_step"), tmp_path)
    assert batch.tables["steps"]["step"].tolist() == [1, 2]


def test_wall_time_axis(tmp_path: Path) -> None:
    rows: list[list[object]] = [[1700000000, 0.5, 1], ["1700000060", 0.6, 2]]
    batch = read(chart("Wall Time", rows, "r - critic/rewards/mean", "r - _step"), tmp_path)
    assert str(batch.tables["steps"]["ts"].iloc[1]) == "2023-11-14 22:14:20"
    assert (batch.facts["time_first_epoch_s"], batch.facts["span_s"]) == (1700000000.0, 60.0)


def test_fractional_steps_belong_to_no_step(tmp_path: Path) -> None:
    batch = read(chart("Step", [[1, 0.5], [1.5, 0.6]], "r - critic/rewards/mean"), tmp_path)
    assert batch.tables["metric_raw"]["step"].isna().tolist() == [False, True]
    assert any("no whole number" in text for text in batch.warnings)


def test_bands_are_kept_where_they_differ(tmp_path: Path) -> None:
    text = '"Step","r - a","r - a__MIN","r - a__MAX"\n"1","2","2","2"\n"2","3","1","5"\n'
    batch = read(text, tmp_path)
    raw = batch.tables["metric_raw"]
    assert dict(zip(raw["key"] + raw["step"].astype(str), raw["value"], strict=True)) == {
        "a1": 2.0, "a2": 3.0, "a__MIN2": 1.0, "a__MAX2": 5.0,
    }  # fmt: skip
    assert any("pool several points" in text for text in batch.warnings)


def test_bad_cells_and_bad_rows(tmp_path: Path) -> None:
    text = '"Step","r - a","other"\n"1","abc","9"\n"x","2","9"\n"3","4"\n"4"\n'
    batch = read(text, tmp_path)
    assert (batch.records, batch.stored) == (4, 1)
    assert [(i.line, i.column) for i in batch.set_aside] == [(2, "r - a"), (3, None)]
    assert batch.facts["ragged_rows"] == 2
    assert any("belong to no run" in w and "other" in w for w in batch.warnings)


def test_a_column_twice_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"'r - a' appears 2 times"):
        read('"Step","r - a","r - a"\n"1","2","3"\n', tmp_path)


def test_moved_columns_keep_the_axis_or_are_refused(tmp_path: Path) -> None:
    rows: list[list[object]] = [[0, 0.5, 10], [5, 0.75, 20]]
    whole = read(chart("Step", rows, "a - critic/rewards/mean", "a - tok/s", bands=False), tmp_path)
    moved = "a - tok/s,Step,a - critic/rewards/mean\n10,0,0.5\n20,5,0.75\n"
    batch = read(moved, tmp_path)
    assert batch.tables["steps"]["step"].tolist() == [0, 5]
    assert batch.facts["series_last[a|tok/s]"] == 20
    assert batch.facts["step_last"] == whole.facts["step_last"]
    unknown = "a - tok/s,epoch,a - critic/rewards/mean\n10,0,0.5\n"
    with pytest.raises(UnreadableFileError, match="No column is the x axis"):
        read(unknown, tmp_path)
    assert read("epoch,a - tok/s\n0.5,10\n", tmp_path).tables["metric_raw"]["x_name"].tolist() == ["epoch"]


def test_header_alone_and_cut_and_repeated(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read('"Step","r - a"\n', tmp_path)
    text = chart("Step", [[1, 10.25], [2, 11.25]], "r - a", bands=False)
    twice = read(text + text, tmp_path)
    assert (twice.records, twice.facts["header_repeated"]) == (4, 1)
    for cut in range(len(text) - 7, len(text) - 2):
        batch = read(text[:cut], tmp_path)
        assert batch.facts["partial_last_line"] == 1
        assert batch.tables["metric_raw"]["value"].tolist() == [10.25]


def test_a_chosen_name_renames_a_single_run(tmp_path: Path) -> None:
    text = chart("Step", [[1, 2]], "r - timing_s/step")
    assert read(text, tmp_path, Choices(run="mine")).facts["run_names"] == "mine"


@pytest.mark.parametrize(
    ("names", "low", "high"),
    [
        (("Step", "r - a", "r - a__MIN", "r - a__MAX"), 0.9, 1.0),
        (("Relative Time (Wall)", "r - a"), 0.7, 0.8),
        (("Date", "Revenue - net", "Cost"), 0.0, 0.25),
        (("Time", "R2 ops / scored image"), 0.0, 0.0),
        (("timestamp", "index", "utilization.gpu [%]"), 0.0, 0.0),
        (("run", "step", "step_s"), 0.0, 0.0),
    ],
)
def test_confidence_by_header(names: tuple[str, ...], low: float, high: float) -> None:
    confidence, why = judge_header(names)
    assert low <= confidence <= high
    assert why


_CELL = st.one_of(
    st.floats(width=32).map(repr),
    st.sampled_from(["", "NaN", "abc", "-", "1,024"]),
    st.integers(0, 99).map(str),
)
_ROW = st.lists(_CELL, min_size=0, max_size=5)


@settings(max_examples=some(14), deadline=None)
@given(
    st.lists(_ROW, min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from(["Step", "Relative Time (Wall)", "custom"]),
)
def test_every_record_is_accounted_for(rows: list[list[str]], closed: bool, x: str) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        [[x, "r - a", "r - b", "s - a"], ["1", "1", "1", "1"], *rows]
    )
    text = out.getvalue() if closed else out.getvalue()[:-1]
    with tempfile.TemporaryDirectory() as folder:
        batch = read(text, Path(folder))
    whole = sum(item.column is None for item in batch.set_aside)
    assert batch.records == batch.stored + whole + sum(batch.ignored.values())
    assert batch.tables["metric_raw"]["value"].map(math.isfinite).all()


@settings(max_examples=some(10), deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 500),
        st.tuples(st.floats(-1e6, 1e6), st.none() | st.floats(-1e6, 1e6)),
        min_size=1,
        max_size=20,
    )
)
def test_points_come_back(points: dict[int, tuple[float, float | None]]) -> None:
    rows: list[list[object]] = [[s, repr(a), "" if b is None else repr(b)] for s, (a, b) in points.items()]
    with tempfile.TemporaryDirectory() as folder:
        raw = read(chart("Step", rows, f"{RUN} - a", "s - b"), Path(folder)).tables["metric_raw"]
    found = {(r, int(s)): float(v) for r, s, v in zip(raw["run"], raw["step"], raw["value"], strict=True)}
    want = {(RUN, s): a for s, (a, _) in points.items()} | {
        ("s", s): b for s, (_, b) in points.items() if b is not None
    }
    assert found == want
