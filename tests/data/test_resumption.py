"""Where attempts resumed: inferred from step numbers, or said; hand-worked money of a run of two jobs.

16 GPUs at $2.00. Job 7001 held them 2 h and failed: 32 GPU-h, $64.00, steps 1-6 of 900 s. Job 7002 held them
6 h and completed: 96 GPU-h, $192.00, steps 5-24 of 900 s. It did steps 5 and 6 anew, so it stands on step 4
or an earlier one. Steps 1-4 of six survive: lost $64.00 x 2/6 = $21.33; goodput 24 x 900 s of 8 h = 0.75.
From nothing: $64.00 lost, goodput 20 x 900 s of 8 h = 0.625.
"""

import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analysis import run
from analysis.ledger import LedgerParams
from analysis.ledger import compute as ledger
from data.errors import UserError
from data.ingest import ingest_file, rebuild
from data.queries.run_details import attempts
from data.readers.base import Choices
from data.run_details import RunDetails, current_details, save_details
from data.store import Store
from tests.data.conftest import copied, made_home
from tests.examples import in_turn

JOBS = (
    "JobID|JobName|State|Start|End|ElapsedRaw|AllocTRES\n"
    "7001|nova|FAILED|2026-10-30T20:00:00|2026-10-30T22:00:00|7200|gres/gpu:h100=16\n"
    "7002|nova|COMPLETED|2026-10-31T21:00:00|2026-11-01T03:00:00|21600|gres/gpu:h100=16\n"
)


def rows(attempt: int, first: int, last: int, start: datetime) -> str:
    lines = (
        f"nova,{attempt},{n},{start + timedelta(seconds=900 * (n - first + 1)):%Y-%m-%dT%H:%M:%SZ},900"
        for n in range(first, last + 1)
    )
    return "\n".join(lines) + "\n"


HEAD = "run,attempt,step,ts,step_s\n"
FIRST = rows(1, 1, 6, datetime(2026, 10, 30, 20, 15))
SECOND = rows(2, 5, 24, datetime(2026, 10, 31, 21, 30))


@pytest.fixture(scope="module")
def two_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home with the run of two jobs, loaded once."""

    def fill(store: Store) -> None:
        load(store, HEAD + FIRST + SECOND, "steps.csv", platform="h100-sxm", gpus=16)
        load(store, JOBS, "jobs.txt", timezone="UTC")

    return made_home(tmp_path_factory.mktemp("two-jobs") / "home", fill)


@pytest.fixture
def home(two_jobs: Path, tmp_path: Path) -> Iterator[Store]:
    yield from copied(two_jobs, tmp_path / "home")


def load(store: Store, text: str, name: str, **choices: object) -> None:
    ingest_file(store, io.BytesIO(text.encode()), name, Choices(**choices))  # type: ignore[arg-type]


def answers(store: Store) -> tuple[float, float, float, list[float], str, list[str]]:
    """Lost USD, goodput, GPU-hours, ends of goodput, badge of the lost work, warnings on resumption."""
    with store.view() as view:
        found = ledger(view, LedgerParams())
    (row,) = found.tables["ledger"].to_dict("records")
    (goodput,) = [f for f in found.headline if f.name == "goodput"]
    ends = [end for end in (goodput.low, goodput.high) if end is not None]
    badge = "".join(found.tables["lost"]["resumption"])
    said = [n.text for n in found.warnings if n.code == "resumption_assumed"]
    return row["lost_usd"], row["goodput_frac"], row["gpu_hours"], ends, badge, said


def test_a_job_that_goes_on_where_one_before_it_was_stands_on_its_steps(home: Store) -> None:
    lost, goodput, hours, ends, badge, said = answers(home)
    assert (lost, goodput, hours) == pytest.approx((64 * 2 / 6, 0.75, 128))
    assert ends == pytest.approx([0.625, 0.75])
    assert badge == "assumed from step numbers"
    assert len(said) == 1 and "$21.33 counts as lost; from nothing, up to $64.00" in said[0]
    assert "attempt 2 from step 4 of attempt 1" in said[0]


@pytest.mark.parametrize("question", ["campaigns", "waste", "month"])
def test_money_says_that_lost_work_rests_on_an_assumed_resumption(home: Store, question: str) -> None:
    """In October attempt 1 is all that was paid: $64.00, of which $21.33 count as lost."""
    with home.view() as view:
        found = run(question, view, {"period": "2026-10"})
        later = run(question, view, {"period": "2026-11"})
    (said,) = [n.text for n in found.warnings if n.code == "resumption_assumed"]
    assert "Where nova resumed is assumed from step numbers" in said
    assert (
        "attempt 2 from step 4 of attempt 1" in said and "up to $64.00 of this period would be lost" in said
    )
    assert not [n for n in later.warnings if n.code == "resumption_assumed"]
    if question == "campaigns":
        badges = found.tables["lost"].set_index("attempt")["resumption"]
        assert set(badges[badges.index == 1]) == {"assumed from step numbers"}
    save_details(home, current_details(home, "nova").model_copy(update={"resumed": {2: 4}}))
    with home.view() as view:
        settled = run(question, view, {"period": "2026-10"})
    assert not [n for n in settled.warnings if n.code == "resumption_assumed"]


@pytest.mark.parametrize(
    ("step", "lost", "goodput"),
    in_turn([(4, 64 * 2 / 6, 0.75), (2, 64 * 4 / 6, 22 * 900 / 28800), (0, 64, 0.625)]),
)
def test_a_said_step_settles_it_and_survives_a_rebuild(
    home: Store, step: int, lost: float, goodput: float
) -> None:
    before = current_details(home, "nova")
    save_details(home, before.model_copy(update={"resumed": {2: step}}))
    for _ in range(2):
        found = answers(home)
        assert found[:2] == pytest.approx((lost, goodput))
        assert found[3:] == ([], "", [])
        rebuild(home)
    assert current_details(home, "nova").resumed == {2: step}
    save_details(home, before)
    assert answers(home)[3] == pytest.approx([0.625, 0.75])


def test_a_step_that_the_attempt_did_itself_is_refused(home: Store) -> None:
    with pytest.raises(UserError, match="its log begins at step 5"):
        save_details(home, RunDetails(run="nova", resumed={2: 5}))


def test_without_jobs_and_in_files_of_their_own_the_rule_is_the_same(store: Store) -> None:
    load(store, HEAD + SECOND, "second.csv", platform="h100-sxm", gpus=16)
    load(store, HEAD + FIRST, "first.csv")
    load(store, "run,attempt,step,ts,step_s\n" + rows(3, 3, 4, datetime(2026, 11, 2)), "third.csv")
    sql = "SELECT attempt, resumed_from_step, resumed_from_attempt FROM attempts ORDER BY attempt"
    with store.view() as view:
        assert view.rows(sql) == [(1, None, None), (2, 4, 1), (3, 2, 1)]


def test_a_file_that_comes_later_settles_the_order_anew(store: Store) -> None:
    """Alone, attempt 2 has nothing to stand on; a start from step 1 is a start from nothing."""
    load(store, HEAD + SECOND, "second.csv", platform="h100-sxm", gpus=16)
    load(store, HEAD + rows(3, 1, 2, datetime(2026, 11, 2)), "third.csv")
    with store.view() as view:
        assert view.rows("SELECT DISTINCT resumed_from_step FROM attempts") == [(None,)]


VERL = "\n".join(
    f"step:{n} - timing_s/step:{s} - actor/pg_loss:0.1 - global_seqlen/mean:100"
    for n, s in [*((n, 900.0) for n in range(1, 7)), *((n, 905.0) for n in range(5, 9))]
)


def resumptions(store: Store) -> list[tuple[int, int | None, int | None, bool]]:
    with store.view() as view:
        names = [name for (name,) in view.rows("SELECT run FROM runs")]
        (frame,) = [attempts(view, name) for name in names]
        parents = dict(view.rows("SELECT attempt, resumed_from_attempt FROM attempts"))
    return [
        (n, None if step != step else int(step), parents[n], bool(assumed))
        for n, step, assumed in zip(
            frame["attempt"], frame["resumed_from_step"].astype(float), frame["resumed_assumed"], strict=True
        )
    ]


@pytest.mark.parametrize("said", ["", "(TaskRunner pid=1) Setting global step to 4\n"])
def test_what_a_log_reader_took_from_step_numbers_bears_the_badge(store: Store, said: str) -> None:
    """Steps 1-6, then 5-8 with other times, in one console log: a line with the step is no inference."""
    lines = VERL.splitlines()
    load(store, "\n".join([*lines[:6], *said.splitlines(), *lines[6:]]) + "\n", "nova.log")
    assert resumptions(store) == [(1, None, None, False), (2, 4, 1, not said)]


def test_what_a_flat_log_shows_bears_the_badge(store: Store) -> None:
    rows = [*({"step": n, "time/total": 10.0} for n in range(1, 7)),
            *({"step": n, "time/total": 11.0} for n in range(5, 9))]  # fmt: skip
    text = "\n".join(json.dumps(row | {"optim/lr": 1e-5, "env/all/reward/total": 0.5}) for row in rows)
    load(store, text + "\n", "metrics.jsonl")
    assert resumptions(store) == [(1, None, None, False), (2, 4, 1, True)]


def test_a_second_file_that_goes_on_in_the_middle_bears_the_badge(store: Store) -> None:
    lines = VERL.splitlines()
    load(store, "\n".join(lines[:6]) + "\n", "nova.log", run="nova")
    load(store, "\n".join(lines[6:]) + "\n", "nova2.log", run="nova")
    assert resumptions(store) == [(1, None, None, False), (2, 4, 1, True)]
