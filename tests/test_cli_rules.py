"""`cli.py rules`: a rule is declared, listed with its versions, taken back; what cannot hold is refused."""

import json
from pathlib import Path

import pytest

import cli
from data.store import get_store


@pytest.fixture
def home(tmp_path: Path):
    yield str(tmp_path / "home")
    get_store(tmp_path / "home").close()


def rules(capsys, home: str, *arguments: str) -> tuple[int, dict]:
    code = cli.main(["rules", *arguments, "--home", home, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_declare_list_and_undo(home: str, capsys) -> None:
    assert cli.main(["rules", "--home", home]) == 0
    assert "nothing is shared" in capsys.readouterr().out
    rules(capsys, home, "teacher", "--pick", "run=t1", "--to", "math", "--to", "code")
    told = ["--method", "fixed", "--to", "math=0.6", "--to", "code=0.3", "--from", "2026-03-01"]
    code, found = rules(capsys, home, "teacher", "--pick", "run=t1", *told)
    assert code == 0 and [r["holds"] for r in found["rules"]] == [False, True]
    assert found["rules"][1]["fixed"] == {"math": "0.6", "code": "0.3"}
    cli.main(["rules", "--home", home])
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "  teacher v2  run t1  fixed: math 0.6, code 0.3  2026-03-01 to any day  holds"
    _, found = rules(capsys, home, "teacher", "--undo")
    assert not any(r["holds"] for r in found["rules"]) and found["rules"][-1]["retired"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["x", "--to", "math"],
        ["x", "--pick", "run=t"],
        ["x", "--undo"],
        ["--pick", "run=t", "--to", "math"],
        ["x", "--pick", "run=t", "--method", "fixed", "--to", "math"],
        ["x", "--pick", "run=t", "--method", "fixed", "--to", "math=0.9", "--to", "code=0.2"],
    ],
)
def test_what_cannot_hold_is_refused(home: str, capsys, arguments: list[str]) -> None:
    code, found = rules(capsys, home, *arguments)
    assert code == 1 and found["error"]["remedy"]
