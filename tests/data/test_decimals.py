"""Tables with decimal commas: what `1,234` and `1.234` are is told by the table, or asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.parse.decimals import table_decimals
from data.parse.table_records import table_sample
from data.readers import choose
from data.readers.base import Batch, Choices
from tests.data.readers.gpu_files import samples


def read(text: str, folder: Path, expect: str) -> Batch:
    source = spool_bytes(text.encode(), "table.csv", folder)
    reader = choose(source, Choices(format=expect))
    batch = reader.read(source, Choices(), folder)
    batch.reconcile()
    return batch


def test_a_column_without_proof_follows_the_others() -> None:
    assert table_decimals([["1,234"], ["0,5"]], ";") == [",", ","]
    assert table_decimals([["1,234"], ["0.5"]], ";") == [".", "."]
    assert table_decimals([["1,234"], ["7"]], ";") == ["?", "?"]
    assert table_decimals([["1,234"], ["0,5"], ["0.5"]], "\t") == ["?", ",", "."]
    assert table_decimals([["1,234"], ["0,5"]], ",") == [None, ","]


HISTORY = "_step;_runtime;_timestamp;perf/time_per_step;perf/total_num_tokens\n"


def test_a_history_with_decimal_commas(tmp_path: Path) -> None:
    rows = "".join(f"{n};{10 * n},5;{1767225600 + n};1{n},234;1.024\n" for n in range(1, 4))
    steps = read(HISTORY + rows, tmp_path, "wandb_history_csv").tables["steps"]
    assert steps["step_s"].tolist() == [11.234, 12.234, 13.234]
    assert steps["tok_total"].tolist() == [1024.0] * 3
    assert steps["elapsed_s"].tolist() == [10.5, 20.5, 30.5]


def test_a_history_with_thousands_beside_decimal_points(tmp_path: Path) -> None:
    rows = "".join(f"{n};{10 * n}.5;{1767225600 + n};1{n}.234;1,024\n" for n in range(1, 4))
    steps = read(HISTORY + rows, tmp_path, "wandb_history_csv").tables["steps"]
    assert steps["step_s"].tolist() == [11.234, 12.234, 13.234]
    assert steps["tok_total"].tolist() == [1024.0] * 3


def test_a_history_that_proves_nothing_is_asked_about(tmp_path: Path) -> None:
    rows = "".join(f"{n};{10 * n};{1767225600 + n};1{n},234;7\n" for n in range(1, 4))
    with pytest.raises(UnreadableFileError, match=r"'11,234' in column 'perf/time_per_step'"):
        read(HISTORY + rows, tmp_path, "wandb_history_csv")


def test_a_template_takes_the_mark_from_its_other_columns(tmp_path: Path) -> None:
    text = "run;step;step_s;tok_gen;reward_mean\nr;1;11,234;1.024;0,5\nr;2;12,234;2.048;0,25\n"
    steps = read(text, tmp_path, "ipd_steps_csv").tables["steps"]
    assert steps[["step_s", "tok_gen", "reward_mean"]].to_numpy().tolist() == [
        [11.234, 1024.0, 0.5],
        [12.234, 2048.0, 0.25],
    ]


def test_a_template_without_proof_sets_the_cells_aside(tmp_path: Path) -> None:
    batch = read("run;step;step_s;tok_gen\nr;1;11,234;7\nr;2;12,5;8\n", tmp_path, "ipd_steps_csv")
    assert batch.tables["steps"]["step_s"].tolist() == [11.234, 12.5]
    batch = read("run;step;step_s;tok_gen\nr;1;11,234;7\nr;2;12,345;8\n", tmp_path, "ipd_steps_csv")
    assert batch.tables["steps"]["step_s"].isna().all()
    assert [(one.line, one.column, one.text) for one in batch.set_aside] == [
        (2, "step_s", "11,234"),
        (3, "step_s", "12,345"),
    ]


def test_a_table_to_map_can_be_looked_at_and_is_asked_about_when_read(tmp_path: Path) -> None:
    source = spool_bytes(b"it;dur\n1;1,234\n2;2,345\n", "own.csv", tmp_path)
    sample = table_sample(source)
    assert sample is not None and sample.rows == (("1", "1,234"), ("2", "2,345"))
    choices = Choices(format="mapped_table", columns={"it": "steps.step", "dur": "steps.step_s|unit=s"})
    with pytest.raises(UnreadableFileError, match="'1,234' in column 'dur'"):
        choose(source, choices).read(source, choices, tmp_path)
    proven = spool_bytes(b"it;dur;toks\n1;1,234;1.024\n2;2,5;2.048\n", "own.csv", tmp_path)
    choices = replace(choices, columns={**choices.columns, "toks": "steps.tok_total"})
    found = choose(proven, choices).read(proven, choices, tmp_path).tables["steps"]
    assert found[["step_s", "tok_total"]].to_numpy().tolist() == [[1.234, 1024.0], [2.5, 2048.0]]


LEGEND = '"DCGM_FI_DEV_POWER_USAGE{gpu=""0"",Hostname=""a"",job=""b"",pod=""c""}"'


def panel(folder: Path, *cells: str) -> Batch:
    rows = "".join(f"{1767225600000 + 15000 * n};{cell}\n" for n, cell in enumerate(cells))
    return read(f"Time;{LEGEND}\n{rows}", folder, "grafana_single_csv")


def test_a_panel_with_semicolons_under_a_legend_with_commas(tmp_path: Path) -> None:
    assert samples(panel(tmp_path, "171,5", "1.171", "271,234"))["power_w"].tolist() == [
        171.5,
        1171.0,
        271.234,
    ]
    assert samples(panel(tmp_path, "171.5", "1,171"))["power_w"].tolist() == [171.5, 1171.0]
    doubtful = panel(tmp_path, "171,234", "271,234")
    assert samples(doubtful)["power_w"].isna().all()
    assert [one.text for one in doubtful.set_aside] == ["171,234", "271,234"]


RATES = "pool;gpu_model;gpus;start;end;usd_per_gpu_hour\n"


def test_a_rate_of_three_decimals_is_not_thousands_of_dollars(tmp_path: Path) -> None:
    day = "2026-01-01T00:00:00Z;2026-01-02T00:00:00Z"
    with pytest.raises(UnreadableFileError, match=r"'2,125' in column 'usd_per_gpu_hour'"):
        read(f"{RATES}train;H100;8;{day};2,125\n", tmp_path, "rate_card_csv")
    batch = read(f"{RATES}train;H100;8;{day};2,125\nrollout;H100;4;{day};1,5\n", tmp_path, "rate_card_csv")
    assert batch.facts["billed_cost"] == pytest.approx(8 * 24 * 2.125 + 4 * 24 * 1.5)


def test_results_by_task_in_a_sheet_with_commas(tmp_path: Path) -> None:
    text = "task_id;passed;cost_usd;tokens\na;1;1,234;1.024\nb;0;0,5;2.048\n"
    tasks = read(text, tmp_path, "task_results").tables["eval_tasks"]
    assert tasks["usd"].tolist() == [1.234, 0.5]
    assert tasks["tokens"].tolist() == [1024, 2048]
