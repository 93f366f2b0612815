"""One home with files of many formats: every question has an answer, every page is drawn."""

import io
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import analysis
from charts.drawn import drawn
from charts.figures import chosen
from data.ingest import ingest_file
from data.run_details import PoolDetails, RunDetails, save_details
from data.store import Store
from pages.parts.compute import answer_in
from reports.notebook.document import AnalysisCell, Document, parse_document
from tests.examples import PROFILE
from tests.faults.inputs import samples
from tests.pages.conftest import CHARTS

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
        CHARTS.clear()
        at.switch_page(f"{page}.py").run()
        assert not at.exception, page
        assert not at.error, page
        assert len(CHARTS) == len(at.get("plotly_chart")), page
        _charts_are_made_again_by_their_cells(everything, page)


def _charts_are_made_again_by_their_cells(store: Store, page: str) -> None:
    with store.view() as view:
        for key, (fig, source) in CHARTS.items():
            (cell,) = parse_document(Document(cells=(source.cell(),)).to_json()).cells
            assert isinstance(cell, AnalysisCell)
            result = answer_in(view, store, cell.question, cell.params)
            ((_, _, draw),) = chosen(cell.question, cell.figures)
            again = draw(result, "light")
            assert again.layout.title == fig.layout.title, (page, key)
            pd.testing.assert_frame_equal(drawn(again), drawn(fig), obj=f"{page} {key}")
