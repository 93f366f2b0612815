"""A whole month through every money question, held against what was worked out by hand, to the cent."""

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from analysis import run
from analysis.result import Result
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store
from models.cents import cents
from tests import money_month as month

QUESTIONS = ("month", "waste", "reconciliation", "campaigns")


@pytest.fixture(scope="module")
def answers(closed_month: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Result]]:
    place = tmp_path_factory.mktemp("month") / "home"
    shutil.copytree(closed_month, place)
    store = Store.open(place)
    with store.view() as view:
        yield {question: run(question, view, {}) for question in QUESTIONS}
    store.close()


def exact(value: float) -> Decimal:
    return cents(Decimal(repr(float(value))))


def column(answers: dict[str, Result], question: str, table: str, key: str) -> dict[str, Decimal]:
    frame = answers[question].tables[table]
    return {str(k): exact(v) for k, v in zip(frame[key], frame["usd"], strict=True)}


def test_the_plan_itself_adds_up() -> None:
    parts = ("not_allocated", "idle", "stalled", "unknown", "working")
    assert sum(month.TRUTH[part] for part in parts) == month.TRUTH["gpu"]


def test_the_identity_is_the_plan_to_the_cent(answers: dict[str, Result]) -> None:
    found = column(answers, "waste", "identity", "part")
    assert found == {part: month.TRUTH[part] for part in found}
    assert set(found) == {"not_allocated", "idle", "stalled", "unknown", "working"}


def test_ladder_waterfall_and_invoice_agree_to_the_cent(answers: dict[str, Result]) -> None:
    ladder = column(answers, "waste", "ladder", "rung")
    fall = column(answers, "waste", "waterfall", "bar")
    truth = month.TRUTH
    assert ladder["paid"] == truth["gpu"]
    assert ladder["allocated"] == truth["gpu"] - truth["not_allocated"]
    assert ladder["effective"] == truth["working"]
    assert fall["bill"] == truth["total"] == exact(answers["reconciliation"].figure("bill_billed").value or 0)
    assert fall["bill"] - fall["other"] == ladder["paid"]
    assert fall["lost"] == truth["failed"]
    minus = sum(value for bar, value in fall.items() if bar not in ("bill", "productive"))
    assert fall["bill"] - minus == fall["productive"] == truth["working"] - truth["failed"]


def test_what_is_explained_and_what_is_not_is_the_whole_bill(answers: dict[str, Result]) -> None:
    parts = column(answers, "month", "parts", "part")
    truth = month.TRUTH
    assert sum(parts.values()) == truth["total"]
    assert parts["open"] == month.STORAGE + month.TAX and parts["credits"] == month.CREDIT
    assert parts["unused"] == month.UNUSED_USD
    assert parts["not_held"] == truth["not_allocated"] - month.UNUSED_USD
    charges = truth["total"] - month.CREDIT
    explained = month.ALLOCATED_GPU_H * month.RATE + month.SANDBOX
    assert answers["month"].figure("bill_explained").value == pytest.approx(float(explained / charges))
    assert explained + truth["not_allocated"] + parts["open"] == charges


def test_the_sentence_names_credits_and_three_parts_of_the_charges(answers: dict[str, Result]) -> None:
    """$11,440.67 of charges: $3,816 of GPUs and $410.10 of sandboxes held, $5,880 idle, $1,334.57 open."""
    assert answers["month"].answer.startswith(
        "March 2026: $10,940.67 billed after $500.00 of credits. Of $11,440.67 of charges, "
        "$4,226.10 (36.9 %) is explained by runs, jobs and campaigns; $5,880.00 (51.4 %) was billed but held "
        "by nobody ($768.00 commitments that nobody used and $5,112.00 GPU time that no run or job held); "
        "$1,334.57 (11.7 %) is not explained, in 2 lines."
    )


def test_campaigns_bear_the_same_bill(answers: dict[str, Result]) -> None:
    weeks = answers["campaigns"].tables["weeks"]
    assert sum((exact(v) for v in weeks["usd"]), Decimal(0)) == month.TRUTH["total"]
    rows = {row["campaign"]: row for row in answers["campaigns"].tables["campaigns"].to_dict("records")}
    assert exact(rows["math"]["usd_failed"]) == month.TRUTH["failed"]
    assert exact(rows["math"]["usd_full"]) == month.GPU_H["math-v3"] * month.RATE
    assert exact(rows["agents"]["usd_full"]) == month.GPU_H["swe-agent"] * month.RATE + month.SANDBOX


def test_the_hang_is_found_with_its_length_and_price(answers: dict[str, Result]) -> None:
    (stall,) = answers["waste"].tables["stalls"].to_dict("records")
    assert (stall["run"], stall["gpus"], stall["length_min"]) == ("math-v3", month.GPUS_A_NODE, 24 * 60)
    assert (stall["start"], stall["end"]) == month.HANG
    assert exact(stall["usd"]) == month.TRUTH["stalled"]


def test_the_silent_hours_widen_the_bounds_and_nothing_else(answers: dict[str, Result]) -> None:
    rows = {row["part"]: row for row in answers["waste"].tables["identity"].to_dict("records")}
    for part in ("idle", "stalled", "working"):
        assert exact(rows[part]["usd_high"]) == month.TRUTH[part] + month.TRUTH["unknown"]


SECOND = """run,attempt,started_at,ended_at,status,pool,role,platform,gpus
second,1,2026-03-15T08:00:00Z,2026-03-15T10:00:00Z,completed,all,colocated,h100-sxm,2
"""


def test_a_run_that_may_be_a_job_leaves_other_days_alone(tmp_path: Path) -> None:
    """Two hours of a run without a job name make no line of another day uncertain."""
    files = month.write(tmp_path)
    del files["gpus.csv"]
    files["second.csv"] = tmp_path / "second.csv"
    files["second.csv"].write_text(SECOND, encoding="utf-8")
    store = Store.open(tmp_path / "home")
    for name, path in files.items():
        ingest_file(store, path, name, Choices(timezone="UTC") if name == "jobs.txt" else Choices())
    with store.view() as view:
        found = run("reconciliation", view, {})
    store.close()
    unheld = month.TRUTH["not_allocated"] - month.UNUSED_USD
    assert exact(found.figure("bill_unheld").value or 0) == unheld


def test_lines_of_campaigns_are_those_of_the_bill_to_the_cent(answers: dict[str, Result]) -> None:
    """Weeks of a line add up to it: a tax of $100.01 over six weeks is not $100.00 beside the bill."""
    rows = answers["campaigns"].tables["unallocated"]
    found = {what: exact(usd) for what, usd in rows.groupby("what")["usd"].sum().items()}
    assert found["Credits"] == month.CREDIT
    assert found["Other and tax"] == month.TAX
    assert found["Storage"] == month.STORAGE
    behind = answers["campaigns"].tables["behind"]
    assert exact(behind[behind["what"] == "Credits"]["usd"].sum()) == month.CREDIT


def test_one_run_has_its_amounts_side_by_side(answers: dict[str, Result]) -> None:
    """504 GPU-h of math-v3 are billed at $3.00 and rented at the book's $2.00; sandboxes are booked costs."""
    rows = answers["campaigns"].tables["amounts"].set_index("run")
    hours, rate = month.GPU_H["math-v3"], Decimal(2)
    told = [
        exact(rows.loc["math-v3", name]) for name in ("billed_usd", "rent_usd", "campaign_usd", "full_usd")
    ]
    assert told == [hours * month.RATE, hours * rate, hours * rate, hours * rate]
    swe = month.GPU_H["swe-agent"]
    told = [
        exact(rows.loc["swe-agent", name]) for name in ("billed_usd", "rent_usd", "campaign_usd", "full_usd")
    ]
    assert told == [swe * month.RATE, swe * rate, swe * rate, swe * rate + month.SANDBOX]
