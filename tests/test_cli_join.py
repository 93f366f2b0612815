"""`cli.py join`: by upload id or file name, with an attempt, and back again."""

import json
from pathlib import Path

import pytest

import cli
from data.run_details import PoolDetails, RunDetails, save_details
from data.store import get_store
from tests.samples import verl_log


@pytest.fixture
def home(tmp_path: Path):
    yield str(tmp_path / "home")
    get_store(tmp_path / "home").close()


def asked(capsys, *arguments: str) -> tuple[int, dict]:
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_join_and_undo(home: str, tmp_path: Path, capsys) -> None:
    for name, first in (("one", 1), ("two", 30)):
        (tmp_path / f"{name}.log").write_text(verl_log(first, first + 4, run=name))
    code, loaded = asked(
        capsys, "import", str(tmp_path / "one.log"), str(tmp_path / "two.log"), "--home", home
    )
    assert code == 0
    upload = loaded["receipts"][1]["upload_id"]
    code, moved = asked(capsys, "join", upload, "--run", "one", "--attempt", "new", "--home", home)
    assert code == 0
    assert [(j["run"], j["attempt"], j["by"]) for j in moved["joins"]] == [("one", 2, "person")]
    code, back = asked(capsys, "join", "two.log", "--undo", "--home", home)
    assert (code, back["runs"]) == (0, ["two"])
    code, refused = asked(capsys, "join", "two.log", "--no-run", "--home", home)
    assert code == 1 and "need a run" in refused["error"]["what"]
    with pytest.raises(SystemExit):
        cli.main(["join", "two.log", "--run", "one", "--attempt", "0", "--home", home])


def test_a_join_asks_only_for_what_the_run_details_do_not_know(home: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "one.log").write_text(verl_log(1, 5, run="one"))
    jobs = tmp_path / "jobs.txt"
    jobs.write_text(
        "JobID|JobName|State|Start|End|AllocTRES|NNodes\n"
        "9|rl|COMPLETED|2031-03-02T00:00:00|2031-03-02T10:00:00|gres/gpu:h100=16|2\n"
    )
    assert cli.main(["import", str(tmp_path / "one.log"), str(jobs), "--home", home]) == 0
    capsys.readouterr()
    assert cli.main(["join", "jobs.txt", "--run", "one", "--home", home]) == 0
    asks = [line for line in capsys.readouterr().out.splitlines() if "needed for dollars" in line]
    assert any("Proposed: 16 (job 9 held 16 GPUs (h100) on 2 nodes" in line for line in asks)
    assert any("Proposed: h100-sxm (the scheduler calls" in line for line in asks)
    pool = PoolDetails(pool="all", role="colocated", platform="h100-sxm", gpus=16)
    save_details(get_store(Path(home)), RunDetails(run="one", pools=[pool]))
    for said in (["--run", "one", "--attempt", "1"], ["--undo"], ["--run", "one"]):
        assert cli.main(["join", "jobs.txt", *said, "--home", home]) == 0
        assert "needed for dollars" not in capsys.readouterr().out
