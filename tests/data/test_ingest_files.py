"""A file, an archive or a folder becomes uploads: each of its own, named by its path, and replayable."""

import gzip
import json
from pathlib import Path

import pytest

from data.errors import UnreadableFileError, UserError
from data.ingest import ingest_file, rebuild
from data.ingest_files import Intake, ingest_files
from data.readers import AmbiguousFormatError
from data.readers.base import Choices
from data.store import Store
from tests.data.event_files import opened, scalars
from tests.data.fakes import content
from tests.data.test_unpack import tarred, zipped

T0 = 1_700_000_000.0


def verl_jsonl(steps: int = 3, reward: float = 0.5) -> bytes:
    rows = [
        {"step": n, "data": {"timing_s/step": 10.0, "timing_s/gen": 5.0, "critic/rewards/mean": reward}}
        for n in range(1, steps + 1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def events(first: int, last: int, start: float = T0) -> bytes:
    rows = (
        scalars(start + 20 + 12 * n, n, timing_s__step=9.0, timing_s__gen=4.0) for n in range(first, last + 1)
    )
    return opened(start) + b"".join(rows)


GPUS = b"timestamp, index, utilization.gpu [%]\n" + b"".join(
    f"2024/01/01 00:00:{n:02d}.000, 0, {n} %\n".encode() for n in range(5)
)
TREE = {
    "exp1/metrics.jsonl": verl_jsonl(),
    "exp1/gpu.csv": GPUS,
    "exp1/README.md": b"# What we did\n\nSome words.\n",
    "exp1/model.bin": b"\1\2\0",
    "exp2/logs/metrics.jsonl": verl_jsonl(4, 0.25),
    "exp3/tb/events.out.tfevents.1.a": events(1, 3),
    "exp3/tb/events.out.tfevents.2.a": events(4, 5, T0 + 100),
}


def lay(folder: Path, tree: dict[str, bytes]) -> Path:
    for name, data in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def names(intake: Intake) -> list[str]:
    return [receipt.file for receipt in intake.receipts]


def left_behind(store: Store) -> list[Path]:
    return list(store.spool.iterdir()) if store.spool.exists() else []


def runs(store: Store) -> list[str]:
    with store.view() as view:
        return [run for (run,) in view.rows("SELECT run FROM runs ORDER BY run")]


TEXT = "this looks like text that begins with"
UPLOADS = ["exp1/gpu.csv", "exp1/metrics.jsonl", "exp2/logs/metrics.jsonl", "exp3/tb/"]


def check_tree(intake: Intake, store: Store, below: str = "") -> None:
    assert names(intake) == [f"{below}{name}" for name in UPLOADS]
    assert {item.name: item.why for item in intake.passed_over} == {
        f"{below}exp1/README.md": f"{TEXT} '# What we did', which no reader knows",
        f"{below}exp1/model.bin": "a binary file",
    }
    assert intake.failed == [] and runs(store) == ["exp1", "exp2", "exp3"]
    assert intake.receipts[3].format == "tensorboard_folder" and intake.receipts[3].steps["count"] == 5
    assert left_behind(store) == []


def test_a_zip_becomes_one_upload_a_file_and_run_folder_that_can_be_rebuilt_from_its_own_bytes(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "all.zip"
    path.write_bytes(zipped(TREE))
    intake = ingest_files(store, path)
    check_tree(intake, store)
    before = content(store)
    assert store.original(intake.receipts[1].sha256).read_bytes() == TREE["exp1/metrics.jsonl"]
    assert rebuild(store) == []
    assert content(store) == before


def test_a_tar_in_a_stream_does_the_same(store: Store, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(tarred(TREE)))
    with (tmp_path / "x").open("rb") as stream:
        check_tree(ingest_files(store, stream, "all.tgz"), store)


def test_a_folder_does_the_same(store: Store, tmp_path: Path) -> None:
    check_tree(ingest_files(store, lay(tmp_path / "runs", TREE)), store, "runs/")


def test_members_loaded_before_are_duplicates(store: Store, tmp_path: Path) -> None:
    alone = lay(tmp_path, {"alone.jsonl": TREE["exp1/metrics.jsonl"]}) / "alone.jsonl"
    first = ingest_file(store, alone)
    folder = lay(tmp_path / "runs", TREE)
    again = {receipt.file: receipt.duplicate_of for receipt in ingest_files(store, folder).receipts}
    assert again["runs/exp1/metrics.jsonl"] == first.upload_id
    assert again["runs/exp1/gpu.csv"] is None
    once_more = ingest_files(store, folder)
    assert all(receipt.duplicate_of for receipt in once_more.receipts) and len(once_more.receipts) == 4


def test_one_compressed_file_is_one_file(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "grpo.jsonl.gz"
    path.write_bytes(gzip.compress(verl_jsonl()))
    receipt = ingest_files(store, path).one()
    assert receipt is not None and (receipt.file, receipt.runs) == ("grpo.jsonl", ("grpo",))


def test_a_plain_file_is_loaded_as_ever(store: Store, tmp_path: Path) -> None:
    path = lay(tmp_path, {"grpo.jsonl": verl_jsonl()}) / "grpo.jsonl"
    assert ingest_files(store, path, choices=Choices(run="mine")).one().runs == ("mine",)
    with pytest.raises(UserError, match="no such file"):
        ingest_files(store, tmp_path / "none")


def test_nothing_readable_is_an_error_that_names_the_files(store: Store, tmp_path: Path) -> None:
    folder = lay(tmp_path / "runs", {"a.md": b"words\n", "b.bin": b"\0\1", ".hidden": b"x"})
    with pytest.raises(UnreadableFileError, match=r"runs/\.hidden: a hidden file; .*b\.bin: a binary.*a\.md"):
        ingest_files(store, folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFileError, match="holds no file"):
        ingest_files(store, tmp_path / "empty")
    assert runs(store) == [] and left_behind(store) == []


def test_the_one_file_of_an_archive_may_ask_for_its_format(store: Store, tmp_path: Path, monkeypatch) -> None:
    def unclear(source, choices):
        raise AmbiguousFormatError("The format of this file is not clear", source.name, "Say which.")

    monkeypatch.setattr("data.readers.choose", unclear, raising=False)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(AmbiguousFormatError) as caught:
        ingest_files(store, tmp_path / "a.csv.gz")
    assert caught.value.where == "a.csv"


def test_a_file_that_fails_does_not_stop_the_others(store: Store, tmp_path: Path) -> None:
    tree = {
        "a.jsonl": verl_jsonl(),
        "b.zip": zipped({"../x.csv": b"1\n"}),
        "c.csv": b"a,b\n" * 30_000 + b"\0",
    }
    intake = ingest_files(store, lay(tmp_path / "runs", tree))
    assert names(intake) == ["runs/a.jsonl"]
    assert [item.name for item in intake.failed] == ["runs/b.zip", "runs/c.csv"]
    assert "'..'" in intake.failed[0].error.what and "NUL" in intake.failed[1].error.what
    assert left_behind(store) == []


def test_archives_in_folders_are_opened_and_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    secret = lay(tmp_path, {"secret.jsonl": verl_jsonl()}) / "secret.jsonl"
    folder = lay(
        tmp_path / "runs",
        {
            "old.zip": zipped({"metrics.jsonl": verl_jsonl(3, 0.75)}),
            "exp2/metrics.jsonl": verl_jsonl(5),
            "exp2/metrics.jsonl.gz": gzip.compress(verl_jsonl(6)),
        },
    )
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    intake = ingest_files(store, folder)
    assert [receipt.steps["count"] for receipt in intake.receipts] == [5, 6, 3]
    assert names(intake)[2] == "runs/old/metrics.jsonl" and runs(store) == ["exp2", "old"]
    assert [item.name for item in intake.passed_over] == ["runs/link.jsonl", "runs/linked"]


def test_a_refused_archive_stores_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(zipped({"exp1/metrics.jsonl": verl_jsonl(), "../evil": b"x"}))
    with pytest.raises(UnreadableFileError, match=r"evil"):
        ingest_files(store, tmp_path / "bad.zip")
    assert runs(store) == [] and left_behind(store) == []


def test_stopping_leaves_whole_files_only(store: Store, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("file 4"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ingest_files(store, lay(tmp_path / "runs", TREE), progress=stop)
    assert caught.value.__notes__ == ["1 files before runs/exp2/logs/metrics.jsonl were stored"]
    with store.view() as view:
        assert view.rows("SELECT name FROM uploads") == [("runs/exp1/metrics.jsonl",)]
    assert left_behind(store) == []


def test_a_packed_run_folder_can_be_loaded_again(tmp_path: Path) -> None:
    tree = {name: data for name, data in TREE.items() if name.startswith("exp3")}
    first, second = Store.open(tmp_path / "one"), Store.open(tmp_path / "two")
    try:
        receipt = ingest_files(first, lay(tmp_path / "runs", tree)).receipts[0]
        again = ingest_files(second, first.original(receipt.sha256), "exp3.tar").one()
        assert again is not None and again.sha256 == receipt.sha256 and again.steps == receipt.steps
    finally:
        first.close()
        second.close()
