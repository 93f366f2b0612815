"""CSV with a step and the raw keys of a framework."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Choices
from data.readers.flat_csv import FlatCsvReader
from tests.data.readers.flat_files import load
from tests.data.verl_files import spooled

HEADER = ",step,timing_s/gen,timing_s/step,perf/throughput,perf/total_num_tokens,critic/rewards/mean\n"
TEXT = HEADER + "0,1,20.5,60,100,48000,0.25\n1,2,,40,100,32000,\n2,3,9.5,20,100,16000,0.75\n"


def test_facts_by_hand(tmp_path: Path) -> None:
    batch = load(TEXT, tmp_path, "steps.csv", expect="flat_metrics_csv")
    facts = batch.facts
    assert (facts["records"], facts["columns"], facts["step_last"]) == (3, 6, 3)
    assert (facts["step_seconds_sum"], facts["phase_seconds[rollout]"]) == (120.0, 30.0)
    assert (facts["tokens_total"], facts["throughput_tokens_per_s"]) == (96000.0, 800.0)
    assert facts["gpu_count_inferred"] == 8.0
    assert (facts["reward_mean"], facts["reward_last"]) == (0.5, 0.75)
    assert facts["missing_cells"] == 2
    assert set(batch.tables["steps"]["source"]) == {"flat_metrics"}


@pytest.mark.parametrize(
    "header",
    [
        "step,loss,reward,kl",
        "global_step,t_rollout,t_step,reward_mean",
        "_step,_runtime,timing_s/gen,timing_s/step",
        "timing_s/gen,timing_s/step",
    ],
)
def test_other_tables_are_left_alone(header: str, tmp_path: Path) -> None:
    source = spooled(f"{header}\n1,2,3,4\n", tmp_path, "x.csv")
    assert FlatCsvReader().sniff(source).confidence < 0.5


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    source = spooled(HEADER, tmp_path, "x.csv")
    assert choose(source, Choices()).format == "flat_metrics_csv"
    with pytest.raises(UnreadableFileError):
        FlatCsvReader().read(source, Choices(), tmp_path)


def test_records_without_a_number_and_numbers_beyond_every_column(tmp_path: Path) -> None:
    """Of five rows one holds only NaN and one blanks; 1e400 is no missing value but a damaged cell."""
    rows = ["1,118,60,0.5", "2,NaN,nan,NaN", "3,119,1e400,0.5", "4,,,", "5,120,inf,0.5"]
    text = "step,timing_s/step,timing_s/gen,critic/rewards/mean\n" + "\n".join(rows) + "\n"
    batch = load(text, tmp_path, expect="flat_metrics_csv")
    assert (batch.records, batch.stored, dict(batch.ignored)) == (5, 3, {"a record without any number": 2})
    (cell,) = batch.set_aside
    assert (cell.line, cell.column, cell.text) == (4, "timing_s/gen", "1e400")
    assert batch.tables["steps"]["step"].tolist() == [1, 3, 5]
    assert batch.facts["steps_count"] == 3
