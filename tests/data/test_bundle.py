"""A run folder as one upload: equal folders give equal bytes, and every file can be read back."""

import os
import tarfile
from pathlib import Path

import pytest

from data.arrival.bundle import listing, open_bundle, pack
from data.arrival.kinds import BUNDLE_MARK
from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError

LONG = "deep/" + "x" * 180 + "/é.txt"
FILES = {"metrics/loss": b"1 0.5 0\n", "meta.yaml": b"run_id: a\n", "empty": b"", LONG: "né".encode()}


def _files(folder: Path, contents: dict[str, bytes]) -> dict[str, Path]:
    found = {}
    for number, (name, data) in enumerate(contents.items()):
        found[name] = folder / f"{number}"
        found[name].parent.mkdir(parents=True, exist_ok=True)
        found[name].write_bytes(data)
    return found


def test_equal_folders_give_equal_bytes(tmp_path: Path) -> None:
    first = _files(tmp_path / "a", FILES)
    other = _files(tmp_path / "b", dict(reversed(FILES.items())))
    for path in other.values():
        os.utime(path, (1, 1))
        path.chmod(0o600)
    (tmp_path / "s").mkdir()
    one, two = pack(first, "a/", tmp_path / "s"), pack(other, "b/", tmp_path / "s")
    assert one.sha256 == two.sha256
    other["empty"].write_bytes(b"no longer")
    assert pack(other, "b/", tmp_path / "s").sha256 != one.sha256


def test_members_can_be_read_back(tmp_path: Path) -> None:
    source = pack(_files(tmp_path, FILES), "exp1/", tmp_path)
    assert (source.kind, source.name) == ("folder", "exp1/")
    members = open_bundle(source)
    assert members.names == tuple(sorted(FILES))
    assert {name: members.read_bytes(name) for name in members.names} == FILES
    assert members.read_text(LONG) == "né"
    assert members.read_bytes("metrics/loss", 3) == b"1 0" and members.size("metrics/loss") == 8
    assert members.extract("meta.yaml", tmp_path / "x").read_bytes() == FILES["meta.yaml"]
    assert members.source("metrics/loss", tmp_path / "y").physical_lines == 1
    with pytest.raises(KeyError):
        members.read_bytes("../meta.yaml")


def test_a_listing_reads_like_the_bundle(tmp_path: Path) -> None:
    members = open_bundle(listing(_files(tmp_path, FILES), "exp1/", tmp_path))
    assert {name: members.read_bytes(name) for name in members.names} == FILES
    assert list(tmp_path.glob("*.tar")) == []


def test_a_bundle_that_was_cut_or_forged_is_refused_or_holds_only_files(tmp_path: Path) -> None:
    whole = pack(_files(tmp_path, FILES), "exp1/", tmp_path).path.read_bytes()
    with pytest.raises(UnreadableFileError, match="damaged"):
        open_bundle(spool_bytes(whole[:700], "cut.tar", tmp_path))
    forged = tmp_path / "forged.tar"
    with tarfile.open(forged, "w") as tar:
        tar.addfile(tarfile.TarInfo(BUNDLE_MARK))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)
    assert open_bundle(spool_bytes(forged.read_bytes(), "forged.tar", tmp_path)).names == ()
