"""The command line on its own: shapes, exit codes, refusals, the progress bar."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tests import app_server as processes
from tests.app_server import ROOT, environment
from tests.app_server import here as cli
from tests.app_server import here_json as cli_json
from tests.samples import verl_log

RECEIPT = {
    "file", "sha256", "format", "confidence", "records", "stored", "quarantined", "ignored", "duplicate_of",
    "runs", "steps", "mapped", "unmapped", "timezone", "warnings", "missing_for_cost",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def home(place):
    return place / "home"


@pytest.fixture(scope="module")
def log(place):
    path = place / "grpo.log"
    path.write_text(verl_log(1, 20))
    return path


@pytest.fixture(scope="module")
def receipt(home, log):
    answer = processes.cli_json(
        "import", log, "--run", "grpo-8b", "--platform", "b200-hgx", "--gpus", 16, "--campaign", "math",
        "--timezone", "UTC", home=home,
    )  # fmt: skip
    assert set(answer) == {"receipts"}
    (found,) = answer["receipts"]
    return found


def test_a_receipt_has_its_keys_and_its_counts_add_up(receipt):
    assert set(receipt) >= RECEIPT
    assert (
        receipt["records"]
        == receipt["stored"] + receipt["quarantined"] + sum(receipt["ignored"].values())
        == 20
    )
    assert receipt["runs"] == ["grpo-8b"]
    assert receipt["steps"] == {"first": 1, "last": 20, "count": 20}
    assert receipt["file"] == "grpo.log"
    assert receipt["missing_for_cost"] == []


def test_the_same_bytes_are_recognised(receipt, home, log):
    again = cli_json("import", log, home=home)["receipts"][0]
    assert again["duplicate_of"] == receipt["upload_id"]


def test_home_may_be_named_on_the_command_line(receipt, home, place):
    assert cli_json("analyse", "ledger", "--home", home)["tables"]["ledger"][0]["run"] == "grpo-8b"
    assert cli_json("analyse", "ledger", "--home", place / "empty")["tables"]["ledger"] == []


def test_good_files_load_beside_a_bad_one(place, home):
    bad, good = place / "bad.csv", place / "good.log"
    bad.write_text("alpha,beta\n1,2\n")
    good.write_text(verl_log(1, 3, run="good"))
    done = cli("import", bad, good, "--json", home=home)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [r["file"] for r in answer["receipts"]] == ["good.log"]
    (error,) = answer["errors"]
    assert error["file"] == str(bad)
    assert error["what"]
    assert error["remedy"]
    assert "bad.csv" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_table_is_read_with_a_mapping_from_a_file(place, home):
    table, mapping = place / "odd.csv", place / "mapping.json"
    table.write_text("it,dur\n1,1500\n2,2500\n")
    refused = cli("import", table, "--json", home=home)
    assert refused.returncode == 1
    assert "table" not in json.loads(refused.stdout)["errors"][0]
    mapping.write_text('{"columns": {"it": "steps.step", "dur": "steps.step_s|unit=ms"}, "timezone": "UTC"}')
    (receipt,) = cli_json("import", table, "--map", mapping, "--run", "odd-one", home=home)["receipts"]
    assert (receipt["format"], receipt["stored"], receipt["runs"]) == ("mapped_table", 2, ["odd-one"])
    mapping.write_text('{"columns": {"it": "steps.nothing"}}')
    done = cli("import", table, "--map", mapping, home=home)
    assert done.returncode == 2
    assert "steps.nothing" in done.stderr


def test_a_missing_file_is_named(home):
    done = processes.cli("import", "/nowhere/x.log", home=home)
    assert done.returncode == 1
    assert "/nowhere/x.log" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [(), ("dance",), ("import",), ("import", "x", "--gpus", "0"), ("import", "x", "--gpus", "many"),
     ("analyse",), ("analyse", "ledger", "--params", "{"), ("analyse", "ledger", "--params", "[1]"),
     ("import", "x", "--map", "/nowhere/map.json"), ("report",), ("link",), ("link", "revoke"), ("facts",),
     ("serve", "--port", "x")],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(arguments, place):
    done = cli(*arguments, home=place / "unused")
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert not (place / "unused").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyse", "nope"), "nope"),
        (("analyse", "ledger", "--params", '{"runs": ["ghost"]}'), "ghost"),
        (("analyse", "ledger", "--params", '{"colour": 1}'), "colour"),
        (("import", "{log}", "--platform", "abacus"), "abacus"),
        (("import", "{log}", "--timezone", "Mars/Olympus"), "Mars/Olympus"),
        (("link", "create", "--expires", "100d"), "90 days"),
        (("link", "revoke", "77"), "no such link"),
        (("report", "--out", "/nowhere/at/all.html"), "/nowhere/at"),
        (("facts", "/nowhere/x.log"), "/nowhere/x.log"),
    ],
)
def test_refusals_are_exit_code_1_and_name_the_place(arguments, words, home, receipt, place):
    fresh = place / "fresh.log"
    fresh.write_text(verl_log(1, 4, run="fresh"))
    done = cli(*(str(a).replace("{log}", str(fresh)) for a in arguments), home=home)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_facts_need_no_home(log, place):
    answer = cli_json("facts", log, "--timezone", "UTC", home=place / "unused")
    assert set(answer) == {"file", "format", "facts"}
    assert answer["facts"]["records"] == 20
    assert answer["facts"]["step_last"] == 20
    assert not (place / "unused").exists()


def test_analyse_prints_the_result(receipt, home):
    answer = cli_json("analyse", "ledger", home=home)
    assert set(answer) == {
        "analysis",
        "params",
        "answer",
        "headline",
        "tables",
        "assumptions",
        "warnings",
        "versions",
    }
    (spend,) = [f["value"] for f in answer["headline"] if f["name"] == "spend"]
    assert spend > 0
    twice = cli_json("analyse", "ledger", home=home)
    assert twice == answer
    words = cli("analyse", "ledger", home=home)
    assert words.stdout.startswith(answer["answer"])


def test_a_report_is_one_file_that_loads_nothing(receipt, home, place):
    out = place / "week.html"
    answer = cli_json("report", "--out", out, "--title", "Week 48", home=home)
    page = out.read_text()
    assert "<h1>Week 48</h1>" in page
    assert answer["hash"] in page
    assert "grpo-8b" in page
    assert page.count("default-src &#39;none&#39;") == 1
    assert (home / "reports" / f"{answer['hash']}.json").is_file()


def test_a_report_without_dollars_has_none(receipt, home, place):
    out = place / "nodollars.html"
    cli_json("report", "--out", out, "--hide-dollars", home=home)
    page = out.read_text()
    shown = page.split("<script>")[0]
    assert "Hidden by the author" in shown
    assert re.findall(r"\$\s?\d", shown) == []


def test_links_from_making_to_revoking(receipt, home):
    made = cli_json("link", "create", "--expires", "1h", home=home)
    assert set(made) >= {"path", "expires_at"}
    assert made["path"].startswith("/r/")
    assert len(made["path"]) == 3 + 43
    listed = cli_json("link", "list", home=home)["links"]
    mine = next(link for link in listed if link["id"] == made["id"])
    assert (mine["state"], mine["opens"], mine["expires_at"]) == ("open", 0, made["expires_at"])
    assert made["path"][3:] not in json.dumps(listed)
    assert cli_json("link", "revoke", made["path"], home=home)["state"] == "revoked"
    assert cli_json("link", "create", "--expires", "none", home=home)["expires_at"] is None
    words = cli("link", "list", home=home)
    assert "revoked" in words.stdout


def test_a_link_to_one_question(receipt, home):
    made = cli_json("link", "create", "--question", "ledger", "--params", '{"runs": ["grpo-8b"]}', home=home)
    mine = next(x for x in cli_json("link", "list", home=home)["links"] if x["id"] == made["id"])
    assert mine["question"] == "ledger"


def on_terminal(*arguments, home):
    """Run with a terminal for standard error; what it drew."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), *map(str, arguments)],
        env=environment(IPD_HOME=str(home)),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 4_096)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    return process.wait(60), drawn.decode()


@pytest.mark.full
def test_a_terminal_sees_a_progress_bar_and_a_pipe_does_not(place, home):
    path = place / "bar.log"
    path.write_text(verl_log(1, 200, run="bar"))
    code, drawn = on_terminal("import", path, home=home)
    assert code == 0
    assert "█" in drawn
    assert "bar.log" in drawn
    assert drawn.endswith("\r\033[K")
    path.write_text(verl_log(1, 220, run="bar2"))
    assert processes.cli("import", path, home=home).stderr == ""


def test_an_unclear_format_lists_the_candidates_and_how_to_name_one(place):
    path = place / "unclear.csv"
    path.write_text("step,step_s,rollouts,a,b,c,d\n1,5,8,1,2,3,4\n2,6,8,1,2,3,4\n")
    for command in ("facts", "import"):
        done = cli(command, path, home=place / "unclear-home")
        assert done.returncode == 1
        assert "--format ipd_steps_csv" in done.stderr
    done = cli("facts", path, "--format", "ipd_steps_csv", home=place / "unclear-home")
    assert done.returncode == 0
    assert "steps_count = 2" in done.stdout


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_open_address_is_refused_before_anything_listens(place, host):
    done = cli("serve", "--host", host, "--port", "8599", home=place / "refused-home")
    assert done.returncode == 1
    assert "listens on this machine only" in done.stderr
    assert done.stdout == ""
    assert "URL" not in done.stderr and "Traceback" not in done.stderr
    assert not (place / "refused-home").exists()
