"""Published figures of operations: each with its source, derived ones follow from the counts behind them."""

import csv
import shutil

import pytest

from data.catalogue import FOLDER
from data.errors import CatalogueError, UserError
from data.operations import FILE, operation, operations


def value(fact):
    return operation(fact).value


def test_derived_figures_follow_from_their_counts():
    # 419 interruptions in 54 days of 16,384 GPUs
    assert value("llama3_interruptions_per_gpu_hour") == pytest.approx(419 / (54 * 24 * 16_384), rel=1e-3)
    assert value("llama3_job_mtti_hours") == pytest.approx(54 * 24 / 419, rel=1e-3)
    assert value("b200_failures_per_gpu_hour") == pytest.approx(10 / (504 * 55 * 24), rel=1e-3)
    # 6.5 failures a thousand node-days: jobs of 16,384 GPUs live 1.8 h, and those of 1,024 should live 28.8 h
    node_h = value("rsc1_failures_per_node_day") / 24
    assert 1 / (16_384 / 8 * node_h) == pytest.approx(value("rsc_job_mttf_hours_16384"), abs=0.01)
    assert 1 / (1_024 / 8 * node_h) / value("rsc_job_mttf_hours_1024") == pytest.approx(3.6, abs=0.1)
    shares = [
        value(f"rl_failure_share_{part}") for part in ("generation_engine", "sandbox_tools", "other_software")
    ]
    assert sum(shares) == pytest.approx(1)


def test_every_figure_says_where_it_comes_from():
    for found in operations().values():
        assert found.source and found.source_date and found.condition and found.unit, found.fact
    with pytest.raises(UserError, match="not known"):
        operation("no_such_figure")


@pytest.mark.parametrize(
    ("change", "told"),
    [({"source": ""}, "source"), ({"status": "guess"}, "status"), ({"low": "9", "high": "10"}, "range")],
)
def test_a_broken_row_is_refused(tmp_path, change, told):
    shutil.copy(FOLDER / FILE, tmp_path / FILE)
    with (tmp_path / FILE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0] |= change
    with (tmp_path / FILE).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(CatalogueError) as found:
        operations(tmp_path)
    assert told in str(found.value.what) and "line 2" in str(found.value.where)
