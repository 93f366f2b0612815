"""The command line with folders, archives and patterns."""

import gzip
import json

import pytest

from tests.app_server import here as cli
from tests.app_server import here_json as cli_json
from tests.data.test_unpack import zipped
from tests.samples import verl_log


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


def test_a_folder_an_archive_and_a_pattern_in_one_go(place):
    for name in ("exp1", "exp2"):
        (place / "runs" / name).mkdir(parents=True)
        (place / "runs" / name / "train.log").write_text(verl_log(1, 3 if name == "exp1" else 5, run=name))
    (place / "runs" / "exp1" / "plot.png").write_bytes(b"\x89PNG\r\n")
    packed = {"deep/train.log": verl_log(1, 7, run="deep").encode(), "deep/notes.md": b"words\n"}
    (place / "more.zip").write_bytes(zipped(packed))
    (place / "bad.zip").write_bytes(zipped({"../evil.log": b"x"}))
    arguments = ["import", place / "runs", place / "*.zip", place / "none*.log"]
    done = cli(*arguments, "--json", home=place / "home")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(r["file"], r["steps"]["count"]) for r in answer["receipts"]] == [
        ("runs/exp1/train.log", 3),
        ("runs/exp2/train.log", 5),
        ("deep/train.log", 7),
    ]
    assert {item["file"] for item in answer["passed_over"]} == {"runs/exp1/plot.png", "deep/notes.md"}
    assert [error["what"][:12] for error in answer["errors"]] == ["No file matc", "A member lea"]
    assert "evil.log" in done.stderr and "Traceback" not in done.stderr
    again = cli("import", place / "runs", home=place / "home")
    assert again.returncode == 0
    assert again.stdout.count("already loaded") == 2 and "Passed over: 1 file" in again.stdout


def test_facts_of_a_packed_file_are_those_of_the_file(place):
    log = verl_log(1, 4).encode()
    (place / "grpo.log").write_bytes(log)
    (place / "grpo.log.gz").write_bytes(gzip.compress(log))
    (place / "one.zip").write_bytes(zipped({"x/grpo.log": log, "x/a.md": b"words\n"}))
    plain = cli_json("facts", place / "grpo.log")
    for name in ("grpo.log.gz", "one.zip"):
        assert cli_json("facts", place / name) == {**plain, "file": str(place / name)}
    two = cli("facts", place / "runs")
    assert two.returncode == 1 and "2 readable files" in two.stderr
