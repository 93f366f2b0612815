"""What lies outside the surviving lineage is never productive, with samples or without: bounds by hand."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from analysis import month, waste
from analysis.shares import Share
from analysis.waste_inside import Inside
from analysis.waste_lineage import Ends, lineage_ends
from analysis.waste_owners import Owner
from analysis.waste_parts import cut_bill, in_cents
from analysis.waste_samples import Evidence
from models.waste import Measured
from tests.analysis.conftest import Home, pool, steps
from tests.analysis.test_waste import START, hung_run, log, put_samples, view_of

DAY = date(2026, 3, 3)
HOUR = 3600.0


def paid(attempt: int, usd: float, hours: float, day: date = DAY) -> Share:
    return Share(
        charge=attempt, day=day, kind="gpu", platform=None, run="r", attempt=attempt, pool="all", role=None,
        job=None, campaign=None, team=None, how="job", gpu_s=hours * HOUR, usd=Decimal(str(usd)),
    )  # fmt: skip


def seen(
    attempt: int, idle_h: float, working_h: float, day: date = DAY
) -> dict[tuple[Owner, date], Measured]:
    return {(Owner("r", attempt, "all"), day): Measured(idle=idle_h * HOUR, working=working_h * HOUR)}


def ends_of(
    shares: list[Share],
    measured: dict[tuple[Owner, date], Measured],
    kept: dict[int, float],
    held_h: dict[int, float],
    unclear: tuple[int, ...] = (),
    assumed: tuple[int, ...] = (),
) -> tuple[float, Ends]:
    """(productive value, bounds) of attempts of one GPU each that were held so long."""
    inside = Inside(
        {}, {}, {("r", a, "all"): h * HOUR for a, h in held_h.items()},
        {("r", a, "all"): 1.0 for a in held_h},
        {("r", a): frac for a, frac in kept.items()}, frozenset(("r", a) for a in unclear),
        frozenset(("r", a) for a in assumed),
    )  # fmt: skip
    bill = cut_bill(shares, True, Evidence(2, 0, measured, [], 0.0, 0.0, False, ()), inside)
    sheet = in_cents(bill)
    value = float(sheet.bar("productive"))
    return value, lineage_ends(bill, inside, value, float(sheet.bar("lost")))


TWO = [paid(1, 40, 10), paid(2, 60, 12)]
"""$40 without samples; $60 for 12 hours: 2 idle, 8 working, 2 unknown at $5.00."""
TWO_SEEN, TWO_HELD = seen(2, 2, 8), {1: 10.0, 2: 12.0}


@pytest.mark.parametrize(
    ("kept", "unclear", "high", "lost_high", "outside"),
    [
        ({1: 0.0, 2: 1.0}, (), 50.0, 40.0, 40.0),
        ({1: 0.25, 2: 1.0}, (), 60.0, 30.0, 30.0),
        ({1: 0.0, 2: 1.0}, (1,), 90.0, 40.0, 0.0),
        ({1: 1.0, 2: 1.0}, (), 90.0, 0.0, 0.0),
    ],
)
def test_an_attempt_without_samples_is_productive_only_as_far_as_it_survived(
    kept: dict[int, float], unclear: tuple[int, ...], high: float, lost_high: float, outside: float
) -> None:
    value, ends = ends_of(TWO, TWO_SEEN, kept, TWO_HELD, unclear)
    assert value == 40.0
    found = (ends.productive_low, ends.productive_high, ends.lost_low, ends.lost_high, ends.outside)
    assert found == pytest.approx((40.0, high, 0.0, lost_high, outside))


def test_no_file_says_which_seconds_of_an_attempt_survived() -> None:
    """10 hours at $4, of which 5 survived; 4 worked and 6 idled: all of the work survived, or none."""
    value, ends = ends_of([paid(1, 40, 10)], seen(1, 6, 4), {1: 0.5}, {1: 10.0})
    assert value == 8.0
    assert (ends.productive_low, ends.productive_high) == pytest.approx((0.0, 16.0))
    assert (ends.lost_low, ends.lost_high, ends.outside) == pytest.approx((0.0, 16.0, 0.0))


def test_what_survives_by_an_assumption_may_be_lost_whole() -> None:
    """10 hours at $4, all worked: 5 survive if the resumption is as assumed, none if it is not."""
    value, ends = ends_of([paid(1, 40, 10)], seen(1, 0, 10), {1: 0.5}, {1: 10.0}, assumed=(1,))
    found = (ends.productive_low, value, ends.productive_high, ends.lost_low, ends.lost_high)
    assert found == pytest.approx((0.0, 20.0, 20.0, 20.0, 40.0))


def test_the_surviving_hours_are_bounded_over_all_days_at_the_dearest() -> None:
    """5 of 20 hours survived; 10 cost $1 an hour and 10 cost $3: at most $15, not $40 or half of each day."""
    later = DAY + timedelta(days=1)
    _, ends = ends_of([paid(1, 10, 10), paid(1, 30, 10, later)], {}, {1: 0.25}, {1: 20.0})
    assert ends.productive_high == pytest.approx(15.0)


@pytest.fixture
def blank() -> Iterator[Home]:
    home = Home()
    yield home
    home.con.close()


def test_a_wholly_lost_attempt_is_in_no_bound_of_what_was_productive(blank: Home, tmp_path: Path) -> None:
    """An hour of 16 GPUs at $3.00 was lost ($48.00, no samples); of the other $96.00 half is sampled, and
    $34.80 of that worked: at most $34.80 + $48.00 of $144.00 is productive, and $48.00 may be lost work.
    """
    hung_run(blank)
    put_samples(blank, tmp_path, log(gpus=8))
    first, last = START - timedelta(hours=2), START - timedelta(hours=1)
    blank.add(
        "attempts",
        {"run": "big", "attempt": 0, "started_at": first, "ended_at": last, "elapsed_s": 3600.0,
         "elapsed_basis": "clock", "status": "failed"},
    )  # fmt: skip
    span = {"gpus": 16, "started_at": first, "ended_at": last}
    blank.add("allocations", pool("big", 0, "all", "train", "b200-hgx", 3600.0, **span))
    rows = steps("big", 0, range(1, 7), 500.0)
    blank.add("steps", *({**row, "ts": first + timedelta(seconds=500 * row["step"])} for row in rows))
    view = view_of(blank, tmp_path)
    bars = waste.compute(view, waste.WasteParams()).tables["waterfall"].set_index("bar")
    ends = ["usd", "usd_low", "usd_high"]
    assert bars.loc["productive", ends].to_list() == pytest.approx([34.8, 34.8, 82.8])
    assert bars.loc["lost", ends].to_list() == pytest.approx([0.0, 0.0, 48.0])
    assert bars.loc["unknown", "detail"].startswith("$48.00 of it is outside the surviving lineage")
    share = month.compute(view, month.MonthParams()).figure("month_productive")
    assert (share.low, share.high) == pytest.approx((34.8 / 144, 82.8 / 144))
