import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from analysis import ask, open_home
from analysis.api import _result
from data import served
from data.errors import HomeBusyError, UserError
from data.store import get_store
from reports.jobs import run_command

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python-api.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def home(example_home, tmp_path_factory):
    place = tmp_path_factory.mktemp("api") / "home"
    shutil.copytree(example_home, place)
    return place


def test_the_examples_of_the_documentation_run(home, monkeypatch, capsys):
    monkeypatch.setenv("IPD_HOME", str(home))
    before = (home / "telemetry.duckdb").read_bytes()
    for example in EXAMPLES:
        exec(compile(example, "python-api.md", "exec"), {})
    said = capsys.readouterr().out
    assert (home / "telemetry.duckdb").read_bytes() == before
    first, number, *rest = said.splitlines()
    value, low, high, *words = number.split()
    assert float(low) < float(value) <= float(high)
    assert words == ["usd", "quote_range"]
    assert "$" in first
    frame = [line.split() for line in rest[1:4]]
    assert sum(float(line[-1]) for line in frame) == pytest.approx(float(value), rel=1e-4)
    assert len(EXAMPLES) == 2


def test_a_server_and_the_files_answer_alike(home, monkeypatch):
    with open_home(home) as opened:
        assert not opened.served
        here = opened.ask("utilisation")
    store = get_store(home)
    monkeypatch.setattr(
        "analysis.api.ask_server",
        lambda _, command, arguments, job: {"answer": run_command(store, command, arguments)},
    )
    monkeypatch.setattr("analysis.api.ReadOnlyHome", refuse)
    served.write_note(home, "127.0.0.1", 1)
    try:
        with open_home(home) as opened:
            assert opened.served
            there = opened.ask("utilisation", {})
    finally:
        store.close()
        (home / "server.json").unlink()
    assert there.answer == here.answer
    assert [f.name for f in there.headline] == [f.name for f in here.headline]
    assert there.figure(here.headline[0].name).value == pytest.approx(here.headline[0].value, rel=1e-12)
    for name, frame in here.tables.items():
        if len(frame):
            assert set(there.tables[name].columns) == {str(c) for c in frame.columns}
            assert len(there.tables[name]) == len(frame)


def refuse(home):
    raise HomeBusyError("The home is held by process 1", str(home), "Stop it.")


def test_a_busy_home_without_a_server_is_refused_by_name(home, monkeypatch):
    monkeypatch.setattr("analysis.api.ReadOnlyHome", refuse)
    with pytest.raises(HomeBusyError, match="process 1"):
        open_home(home)


def test_what_a_server_refuses_is_raised_with_its_remedy(home, monkeypatch):
    error = {"what": "no", "where": "parameter price", "remedy": "Use one of a."}
    monkeypatch.setattr("analysis.api.ask_server", lambda *_: {"error": error})
    monkeypatch.setattr("analysis.api.ReadOnlyHome", refuse)
    monkeypatch.setattr("analysis.api.read_note", lambda _: served.ServerNote(1, "http://127.0.0.1:1", "x"))
    with pytest.raises(UserError) as refused:
        ask("ledger", home=home)
    assert (refused.value.where, refused.value.remedy) == ("parameter price", "Use one of a.")


def test_wrong_questions_parameters_and_folders_are_named(home, tmp_path):
    with open_home(home) as opened:
        assert opened.questions["ledger"]
        with pytest.raises(UserError, match="no question 'profit'"):
            opened.ask("profit")
        with pytest.raises(UserError, match="'colour' is no parameter"):
            opened.ask("ledger", colour="red")
        with pytest.raises(duckdb.Error, match="read-only"), opened._files.view() as view:
            view.cursor.execute("CREATE TABLE x (a INTEGER)")
    with pytest.raises(UserError, match="holds no home"):
        open_home(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_an_older_home_is_refused_and_left_as_it_is(home, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    for name in ("telemetry.duckdb", "workspace.sqlite"):
        shutil.copy(home / name, old / name)
    with duckdb.connect(str(old / "telemetry.duckdb")) as con:
        con.execute(
            "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)"
        )
    with pytest.raises(UserError, match="telemetry database has version") as refused:
        open_home(old)
    assert "Open the home once" in refused.value.remedy


def test_times_of_a_served_table_are_times():
    rows = [{"at": "2026-11-29T10:00:00+00:00", "n": 1}]
    empty = {"params": {}, "headline": [], "assumptions": [], "warnings": [], "versions": {}}
    raw = {**empty, "analysis": "q", "answer": "", "tables": {"t": rows, "none": []}}
    tables = _result(raw).tables
    assert tables["t"]["at"][0] == pd.Timestamp("2026-11-29T10:00Z")
    assert tables["none"].empty


def test_the_api_imports_no_user_interface():
    code = "import json, sys; from analysis import ask, open_home; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"streamlit", "plotly", "charts", "reports"} & set(json.loads(done.stdout))
