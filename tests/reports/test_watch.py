import os

import pytest

from data.errors import UserError
from reports.watch import Watcher, receipt_line, start_watching, stop_watching, watching


class Loader:
    def __init__(self):
        self.taken = []

    def __call__(self, path, name):
        if path.suffix == ".worse":
            raise ZeroDivisionError
        if path.suffix == ".bad":
            raise UserError("No reader knows this", path.name, "Use a template.")
        self.taken.append((name, path.read_text()))
        return f"{path.name} loaded"


@pytest.fixture
def loader():
    return Loader()


@pytest.fixture
def watcher(tmp_path, loader):
    return Watcher(tmp_path, loader, quiet_s=3, again_after_s=30)


def write(path, text, stamp):
    path.write_text(text)
    os.utime(path, (stamp, stamp))


def test_a_file_is_taken_once_it_has_been_quiet(watcher, loader, tmp_path):
    write(tmp_path / "a.csv", "1", 100)
    assert [watcher.look(now) for now in (0, 2.9, 3, 4, 99)] == [0, 0, 1, 0, 0]
    assert loader.taken == [("a.csv", "1")]


def test_a_file_that_never_rests_is_taken_in_between(watcher, loader, tmp_path):
    path = tmp_path / "run" / "grow.log"
    path.parent.mkdir()
    write(path, "x", 0)
    watcher.look(0)
    watcher.look(3)
    for second in range(4, 64):
        write(path, "x" * second, second)
        watcher.look(second)
    assert [len(text) for _, text in loader.taken] == [1, 33, 63]


def test_unfinished_hidden_and_empty_files_wait(watcher, loader, tmp_path):
    for name in ("a.csv.part", "b.tmp", ".hidden"):
        write(tmp_path / name, "1", 0)
    write(tmp_path / "empty.csv", "", 0)
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git" / "x.csv", "1", 0)
    watcher.look(0)
    assert watcher.look(10) == 0
    (tmp_path / "a.csv.part").rename(tmp_path / "a.csv")
    watcher.look(11)
    assert watcher.look(14) == 1
    assert loader.taken == [("a.csv", "1")]


def test_a_refused_file_is_told_once_and_stops_nothing(watcher, loader, tmp_path):
    write(tmp_path / "a.bad", "1", 0)
    write(tmp_path / "b.csv", "2", 0)
    watcher.look(0)
    watcher.look(5)
    assert watcher.look(50) == 0
    assert [(e.file, e.refused) for e in watcher.events] == [("a.bad", True), ("b.csv", False)]
    assert "Use a template" in watcher.events[0].text
    assert loader.taken == [("b.csv", "2")]


def test_a_folder_that_is_not_there_is_refused(tmp_path, loader):
    with pytest.raises(UserError, match="not there"):
        Watcher(tmp_path / "none", loader).start()


def test_the_thread_takes_files_and_ends(tmp_path, loader, monkeypatch):
    monkeypatch.setattr("reports.watch.LOOK_EVERY_S", 0.01)
    watcher = Watcher(tmp_path, loader, quiet_s=0)
    write(tmp_path / "a.csv", "1", 0)
    watcher.start()
    for _ in range(500):
        if loader.taken:
            break
        watcher._stop.wait(0.01)
    watcher.stop()
    assert loader.taken == [("a.csv", "1")]


def test_a_failure_of_the_app_is_logged_and_the_next_file_is_taken(watcher, loader, tmp_path, caplog):
    write(tmp_path / "a.worse", "1", 0)
    write(tmp_path / "b.csv", "2", 0)
    watcher.look(0)
    watcher.look(5)
    assert [(e.file, e.refused) for e in watcher.events] == [("a.worse", True), ("b.csv", False)]
    assert "ZeroDivisionError" in caplog.text


def test_the_variable_names_the_folder(tmp_path, loader, monkeypatch):
    monkeypatch.delenv("IPD_WATCH", raising=False)
    assert start_watching(loader) is None
    monkeypatch.setenv("IPD_WATCH", str(tmp_path))
    watcher = start_watching(loader)
    assert watching() is watcher and watcher.folder == tmp_path
    stop_watching(watcher)
    assert watching() is None


def test_a_loaded_file_is_told_in_one_line():
    receipt = {"stored": 1200, "records": 1201, "format": "verl_console", "runs": ["a", "b", "c", "d"]}
    assert receipt_line(receipt) == "1,200 of 1,201 records stored · verl_console · a, b, c"
    assert "before" in receipt_line({**receipt, "duplicate_of": "ff"})
