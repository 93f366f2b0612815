"""What the money started from: a person names it, the gain counts from it, a rebuild keeps it."""

import io

import pytest

import analysis
from data.errors import UserError
from data.ingest import ingest_file, rebuild, undo_upload
from data.readers.base import Choices
from data.run_details import FIRST_LOGGED, RunDetails, current_details, save_details, start_choices
from tests.data.conftest import copied, made_home
from tests.data.fakes import content
from tests.samples import verl_log

RUN = "grpo-sample"
BASELINE = b"""checkpoint,benchmark,metric,k,score,n_tasks
base,openai/gsm8k,acc,1,0.4,1319
other-base,openai/gsm8k,acc,1,0.5,1319
"""


def fill(store):
    choices = Choices(gpus=16, platform="b200-hgx")
    ingest_file(store, io.BytesIO(verl_log(1, 30).encode()), "a.log", choices)
    ingest_file(store, io.BytesIO(BASELINE), "baseline.csv")


@pytest.fixture(scope="module")
def loaded_home(tmp_path_factory):
    return made_home(tmp_path_factory.mktemp("loaded") / "home", fill)


@pytest.fixture
def loaded(loaded_home, tmp_path):
    yield from copied(loaded_home, tmp_path / "home")


def gain(store):
    with store.view() as view:
        table = analysis.run("gain", view, {"runs": [RUN]}).tables["gains"]
    return [None if row != row else row / 100 for row in table["gain"]]


def score(step):
    return 0.55 + 0.0035 * step


def start(store, name):
    now = current_details(store, RUN)
    save_details(store, RunDetails.model_validate(now.model_dump() | {"start_checkpoint": name}))


def test_without_a_start_there_is_no_gain(loaded):
    assert gain(loaded) == [None]
    assert start_choices(loaded, RUN) == [FIRST_LOGGED, "base", "other-base"]


@pytest.mark.parametrize(
    ("name", "before"),
    [("base", 0.4), pytest.param("other-base", 0.5, marks=pytest.mark.full), (FIRST_LOGGED, score(10))],
)
def test_the_gain_counts_from_the_named_start(loaded, name, before):
    start(loaded, name)
    assert gain(loaded) == [pytest.approx(score(30) - before, abs=1e-6)]
    stored = content(loaded)
    assert rebuild(loaded) == []
    assert content(loaded) == stored
    assert gain(loaded) == [pytest.approx(score(30) - before, abs=1e-6)]
    assert current_details(loaded, RUN).start_checkpoint == name


def test_it_can_be_taken_back_and_changed(loaded):
    untouched = content(loaded)
    start(loaded, "base")
    start(loaded, "other-base")
    assert gain(loaded) == [pytest.approx(score(30) - 0.5, abs=1e-6)]
    start(loaded, None)
    assert gain(loaded) == [None]
    assert content(loaded)["checkpoints"] == untouched["checkpoints"]


def test_it_follows_later_files_and_undone_ones(loaded):
    start(loaded, FIRST_LOGGED)
    earlier = f"run,step,benchmark,metric,k,score,n_tasks\n{RUN},2,openai/gsm8k,acc,1,0.45,1319\n"
    receipt = ingest_file(loaded, io.BytesIO(earlier.encode()), "earlier.csv")
    assert gain(loaded) == [pytest.approx(score(30) - 0.45, abs=1e-6)]
    undo_upload(loaded, receipt.upload_id)
    assert gain(loaded) == [pytest.approx(score(30) - score(10), abs=1e-6)]


def test_undoing_the_baseline_or_the_run_leaves_nothing_behind(loaded):
    start(loaded, "base")
    with loaded.view() as view:
        ids = dict(view.rows("SELECT name, upload_id FROM uploads"))
    undo_upload(loaded, ids["baseline.csv"])
    assert gain(loaded) == [None]
    undo_upload(loaded, ids["a.log"])
    with loaded.view() as view:
        assert view.rows("SELECT count(*) FROM checkpoints") == [(0,)]


def test_a_checkpoint_of_the_run_itself_or_an_unknown_one_is_refused(loaded):
    for name in (f"{RUN}@10", "nothing", f"{RUN}@start"):
        with pytest.raises(UserError, match="no checkpoint") as caught:
            start(loaded, name)
        assert "base" in caught.value.remedy


def test_checkpoints_of_the_made_up_example_are_no_start_of_an_own_run(loaded):
    made_up = b"checkpoint,run,attempt,step,parent\nexample-base,,,,\n"
    ingest_file(loaded, io.BytesIO(made_up), "example_checkpoints.csv", Choices(synthetic=True))
    assert "example-base" not in start_choices(loaded, RUN)
