"""One home with files of many formats: every question has an answer, every page is drawn."""

import io
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import analysis
from data.ingest import ingest_file
from data.run_details import PoolDetails, RunDetails, save_details
from data.store import Store
from tests.examples import PROFILE
from tests.faults.inputs import samples

PAGES = ("overview", "telemetry", "rollouts", "utilisation", "intelligence", "generations", "hardware")
PAGES += ("money", "tenure", "capacity", "forecast")


@pytest.fixture(params=[25, pytest.param(1, marks=pytest.mark.full)], ids=["every 25th", "all"])
def everything(loaded: Store, request: pytest.FixtureRequest) -> Store:
    """Files of every kind, half of the runs with GPUs, and the example."""
    store = loaded
    for sample in samples()[:: request.param]:
        ingest_file(store, io.BytesIO(sample.data), sample.name, sample.choices)
    with store.view() as view:
        runs = [run for (run,) in view.rows("select run from runs where not synthetic order by run")]
    assert len(runs) > 20 / request.param
    for run in runs[::2]:
        pool = PoolDetails(pool="all", role="colocated", platform="h100-sxm", gpus=8)
        save_details(store, RunDetails(run=run, pools=(pool,)))
    return store


def test_every_question_answers_and_every_page_is_drawn(
    everything: Store, app: Callable[..., AppTest]
) -> None:
    with everything.view() as view:
        for question in sorted(analysis.QUESTIONS)[:: 3 if PROFILE == "ci" else 1]:
            answer = analysis.run(question, view)
            assert answer.answer.strip(), question
            assert answer.to_json(), question
    at = app()
    for page in PAGES:
        at.switch_page(f"{page}.py").run()
        assert not at.exception, page
        assert not at.error, page
