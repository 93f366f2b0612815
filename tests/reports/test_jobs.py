"""What the command line asks for by default, and run details on it: by the rules of the pages."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.errors import UserError
from data.ingest import ingest_file
from data.notebooks import Notebooks
from data.readers.base import Choices
from data.store import Store
from reports.jobs import answer, run_command
from reports.links import LinkBook
from reports.live_links import compute
from reports.notebook.document import Document, SqlCell

STEPS = "run,attempt,step,step_s\n{0},1,1,90\n{0},1,2,90\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(tmp_path / "home")
    yield found
    found.close()


def load(store: Store, run: str, synthetic: bool) -> None:
    ingest_file(store, io.BytesIO(STEPS.format(run).encode()), f"{run}.csv", Choices(synthetic=synthetic))


def runs_of(store: Store, **params: object) -> set[str]:
    return set(answer(store, "ledger", params).tables["ledger"]["run"])


def test_own_runs_alone_unless_all_are_asked_for(store: Store) -> None:
    load(store, "made-up", True)
    assert runs_of(store) == {"made-up"}
    load(store, "mine", False)
    assert runs_of(store) == {"mine"}
    assert runs_of(store, runs=[]) == {"made-up", "mine"}
    assert runs_of(store, runs=["made-up"]) == {"made-up"}


def test_details_are_decided_one_after_the_other_and_a_bad_one_changes_nothing(store: Store) -> None:
    """8 GPUs for 180 s of steps at $2.00: $0.80."""
    load(store, "mine", False)
    pool = {"pool": "all", "role": "colocated", "platform": "h100-sxm", "gpus": 8}
    shown = run_command(store, "details", {"run": "mine", "set": {"campaign": "math", "pools": [pool]}})
    assert shown["details"]["campaign"] == "math" and shown["missing"] == []
    assert answer(store, "ledger", {}).tables["ledger"]["usd"].tolist() == pytest.approx([0.80])
    for bad, place in (
        ({"mode": "sideways"}, "mode"), ({"colour": "red"}, "colour"), ({"pools": [pool, pool]}, "pools"),
        ({"pools": [pool | {"platform": "h999"}]}, "pools"),
    ):  # fmt: skip
        with pytest.raises(UserError) as refused:
            run_command(store, "details", {"run": "mine", "set": bad})
        assert refused.value.remedy, place
    assert run_command(store, "details", {"run": "mine"})["details"]["pools"][0]["gpus"] == 8
    assert (
        run_command(store, "details", {"run": "mine", "set": {"campaign": None}})["details"]["campaign"]
        is None
    )
    kinds = [one.kind for one in store.workspace.decisions() if one.kind == "run_details"]
    assert len(kinds) == 2
    with pytest.raises(UserError, match="no run nobody"):
        run_command(store, "details", {"run": "nobody"})


def test_a_live_link_of_a_notebook_runs_it_when_it_is_opened(store: Store) -> None:
    load(store, "mine", False)
    cell = SqlCell(id="0000000a", name="found", sql="select count(*) as steps_seen from steps")
    made = Notebooks(store.workspace).create(Document(title="Weekly look", cells=(cell,)).to_json())
    told = run_command(store, "link create", {"notebook": made.id, "live": True})
    assert (told["kind"], told["title"], told["report"]) == ("live", "Weekly look", "")
    recipe = LinkBook(store.home).get(str(told["id"])).recipe or {}
    assert compute(store, "", recipe).sections[0]["tables"]["found"] == [{"steps_seen": 2}]
    load(store, "more", False)
    assert compute(store, "", recipe).sections[0]["tables"]["found"] == [{"steps_seen": 4}]
    with pytest.raises(UserError):
        run_command(store, "link create", {"notebook": 99, "live": True})
