"""docs/push.md: the lines that it shows are the page's, its numbers the code's, and they push a run."""

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from data.readers.base import Choices
from data.store import Store
from pages.parts import live, push
from reports import jobs, receive, watch
from reports.push_snippets import curl_lines, python_lines
from reports.push_tokens import PushTokens
from reports.receive import Uploads
from tests.docs_pages import DOCS, ROOT
from tests.reports.live import ask, served

PAGE = (DOCS / "push.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ADDRESS = "http://127.0.0.1:8501"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


@pytest.fixture
def site(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The upload route on a real server; a live token in the environment."""
    book = PushTokens(store.home)
    monkeypatch.setenv("IPD_TOKEN", book.create("nightly")[1])
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    uploads = Uploads(
        lambda: store.spool,
        lambda path, name, choices, progress: jobs.ingest(store, path, name, choices, progress),
        lambda _: None,
        lambda secret: book.check(secret) is not None,
    )
    with served(Starlette(routes=uploads.routes())) as address:
        yield address


def pusher(address: str, **details: Any) -> Any:
    """The class of the page, made for `address`."""
    names: dict[str, Any] = {}
    exec(BLOCKS["python"].replace(ADDRESS, address), names)
    return names["Pusher"](address, "night", every=10, **details) if details else names["pusher"]


def metrics(step: int) -> dict[str, float]:
    return {"timing_s/step": 10.0 + step, "timing_s/gen": 6.0, "critic/rewards/mean": step / 100}


def held(store: Store) -> list[tuple[Any, ...]]:
    with store.view() as view:
        return view.rows("SELECT run, attempt, step, step_s FROM steps ORDER BY ALL")


def test_the_page_shows_the_lines_of_the_app() -> None:
    assert curl_lines(ADDRESS) == BLOCKS["sh"]
    assert ast.dump(ast.parse(python_lines(ADDRESS))) == ast.dump(ast.parse(BLOCKS["python"]))
    assert len(python_lines(ADDRESS).strip().splitlines()) <= 20


def test_the_class_sends_each_step_once_and_its_last_row_too(site: str, store: Store) -> None:
    job = pusher(site)
    job.send()
    for step in range(1, 22):
        job.log(step, metrics(step))
    assert [json.loads(row)["step"] for row in job.rows] == [21]
    job.send()
    assert job.rows == []
    assert held(store) == [("nightly-42", 1, step, 10.0 + step) for step in range(1, 22)]


def test_what_could_not_be_sent_goes_with_the_next(
    site: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    job = pusher(site)
    there, job.url = job.url, "http://127.0.0.1:9/api/telemetry"
    for step in range(1, 16):
        job.log(step, metrics(step))
    assert len(job.rows) == 15
    assert "training goes on" in capsys.readouterr().out
    job.url = there
    job.send()
    assert [row[2] for row in held(store)] == list(range(1, 16))


def test_newest_rows_and_whole_files_give_the_same_run(site: str, store: Store) -> None:
    job = pusher(site, gpus=8)
    for step in range(1, 21):
        job.log(step, metrics(step))
    parts = held(store)
    whole = "".join(json.dumps({"step": s, **metrics(s)}) + "\n" for s in range(1, 21)).encode()
    head = {"Authorization": f"Bearer {PushTokens(store.home).create('again')[1]}"}
    for name in ("a.jsonl", "a.jsonl"):
        reply = ask(
            "POST", f"{site}/api/telemetry", params={"name": name, "run": "night"}, data=whole, headers=head
        )
        assert reply.status_code == 200
    assert reply.json()["duplicate_of"]
    assert held(store) == parts
    assert len(parts) == 20


def test_the_curl_line_runs(site: str, store: Store, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "metrics.jsonl").write_text(
        "".join(json.dumps({"step": s, **metrics(s)}) + "\n" for s in (1, 2))
    )
    shown = BLOCKS["sh"].replace(ADDRESS, site)
    for command in (
        shown,
        shown.replace("--data-binary @metrics.jsonl", "-X POST --upload-file metrics.jsonl"),
    ):
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["duplicate_of"]
    assert [row[:3] for row in held(store)] == [("nightly-42", 1, 1), ("nightly-42", 1, 2)]


def table(heading: str) -> dict[str, str]:
    text = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (.+?) \| (.*?) \|$", text, re.MULTILINE))


def test_the_parameters_are_those_of_the_route() -> None:
    named = {name for key in table("Parameters of the address") for name in re.findall(r"`(\w+)`", key)}
    chosen = {one.name for one in fields(Choices)} - {"columns", "synthetic"}
    assert named == chosen | (receive._OWN_PARAMETERS - {"token"})


def test_the_status_codes_are_those_of_the_route() -> None:
    code = (ROOT / "reports" / "receive.py").read_text(encoding="utf-8")
    given = set(re.findall(r"(?:RefusedError\(|_finish\(job, |_error\()\s*(\d{3})", code)) - {"404"}
    assert {key for key in table("Answers") if key.isdecimal()} == given | {"200"}


def test_its_numbers_are_those_of_the_code() -> None:
    flat = " ".join(PAGE.split())
    for said in (
        f"it lives for {push.LIVES[7]}, {push.LIVES[90]}, a year or until you revoke it",
        f"no data came for {receive.CHUNK_SECONDS:g} seconds",
        f"(`IPD_MAX_UPLOAD_MB` ({receive.DEFAULT_LIMIT_MB} MB)"[1:],
        f"{receive.SPACE_FACTOR} x the size is needed",
        f"{receive.WORKERS} files are read at once",
        f"(up to {receive.JOB_LIMIT} characters)",
        f"has not changed for {watch.QUIET_S:g} s",
        f"at most every {watch.AGAIN_AFTER_S:g} s",
        f"looks for new data every {live.EVERY_S:g} s",
        f"`{watch.VARIABLE}=",
    ):
        assert said in flat, said
    assert sorted(push.LIVES) == [0, 7, 90, 366]
    assert set(re.findall(r"`(\.\w+)`", PAGE)) == set(watch._UNFINISHED)
