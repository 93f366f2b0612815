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
