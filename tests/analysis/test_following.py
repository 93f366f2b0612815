"""Credits and corrections go with the tagged line of their machine, to the cent."""

from pathlib import Path

import pytest

from tests.analysis.bills import DAY, by, charge, hold, load, reconciled, shares
from tests.analysis.conftest import Home

ALPHA = '{"run": "alpha"}'
CREDIT = {"ChargeCategory": "Credit", "node": "node-a"}
CORRECTION = {"ChargeClass": "Correction", "node": "node-a", "gpu_h": -19.2}


@pytest.mark.parametrize("known", [True, False], ids=["run with a clock", "run not loaded"])
def test_they_reduce_what_a_tag_gives_to_a_run(empty_home: Home, tmp_path: Path, known: bool) -> None:
    if known:
        hold(empty_home, "alpha", DAY, 24)
    lines = [
        charge(480, gpu_h=192, node="node-a", Tags=ALPHA), charge(-50, **CREDIT), charge(-48, **CORRECTION),
    ]  # fmt: skip
    load(empty_home, tmp_path, lines)
    assert by(shares(empty_home), "run", "how") == {("alpha", "tag"): 382.0}
    assert reconciled(empty_home).figure("bill_explained").value == 1.0


def test_another_machine_or_time_is_not_theirs(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "alpha", DAY, 24)
    lines = [
        charge(480, gpu_h=192, node="node-a", Tags=ALPHA), charge(-50, **CREDIT | {"node": "node-b"}),
        charge(-5, DAY.replace(day=12), **CREDIT),
    ]  # fmt: skip
    load(empty_home, tmp_path, lines)
    assert by(shares(empty_home), "run") == {"alpha": 480.0, None: -55.0}


def test_two_tags_on_one_machine_share_a_credit_by_their_dollars(empty_home: Home, tmp_path: Path) -> None:
    lines = [
        charge(300, hours=12, gpu_h=96, node="node-a", Tags=ALPHA),
        charge(100, DAY.replace(hour=12), 12, gpu_h=96, node="node-a", Tags='{"run": "beta"}'),
        charge(-40, **CREDIT),
    ]
    load(empty_home, tmp_path, lines)
    assert by(shares(empty_home), "run") == {"alpha": 270.0, "beta": 90.0}
