"""Archives: what is taken out, what is passed over, and what is refused with nothing left behind."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.arrival import unpack as module
from data.arrival.names import natural
from data.arrival.unpack import Limits, Unpacked, is_archive, unpack
from data.errors import UnreadableFileError
from tests.examples import some

SMALL = Limits(1 << 20, ratio=20, ratio_from_bytes=100_000, members=20, name_characters=60)


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def opened(tmp_path: Path, data: bytes, name: str = "runs.zip", caps: Limits = SMALL) -> Unpacked:
    path = tmp_path / "upload"
    path.write_bytes(data)
    return unpack(path, name, tmp_path / "out", caps)


def contents(found: Unpacked) -> dict[str, bytes]:
    return {item.name: item.path.read_bytes() for item in found.files}


def passed(found: Unpacked) -> dict[str, str]:
    return {item.name: item.why for item in found.passed_over}


FILES = {"exp1/metrics.jsonl": b'{"a": 1}\n', "exp1/logs/train.log": b"step 1\n", "top.csv": b"a,b\n"}
NAMED = {"exp1/metrics.jsonl": b'{"a": 1}\n', "exp1/logs/train.log": b"step 1\n", "runs/top.csv": b"a,b\n"}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (zipped(FILES), "runs.zip"),
        (tarred(FILES), "runs.tar"),
        (gzip.compress(tarred(FILES)), "runs.tar.gz"),
        (gzip.compress(tarred(FILES)), "runs.tgz"),
        (bz2.compress(tarred(FILES)), "runs.tar.bz2"),
        (lzma.compress(tarred(FILES)), "runs.tar.xz"),
    ],
)
def test_every_kind_of_archive_gives_the_same_files(tmp_path: Path, data: bytes, name: str) -> None:
    assert contents(opened(tmp_path, data, name)) == NAMED


@pytest.mark.parametrize(
    ("pack", "end"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")]
)
def test_one_compressed_file_loses_its_ending(tmp_path: Path, pack, end: str) -> None:
    assert contents(opened(tmp_path, pack(b"a,b\n"), f"gpu.csv.{end}")) == {"gpu.csv": b"a,b\n"}


def test_two_gzip_streams_in_one_file_are_one_file(tmp_path: Path) -> None:
    assert contents(opened(tmp_path, gzip.compress(b"a\n") + gzip.compress(b"b\n"), "x.gz")) == {
        "x": b"a\nb\n"
    }


def test_archives_inside_are_opened_once(tmp_path: Path) -> None:
    inner = zipped({"m.jsonl": b"{}\n", "deep.tgz": gzip.compress(tarred({"n.jsonl": b"{}\n"}))})
    found = opened(
        tmp_path, zipped({"a/in.zip": inner, "a/x.csv.gz": gzip.compress(b"1\n"), "a/x.csv": b"2\n"})
    )
    assert contents(found) == {"a/in/m.jsonl": b"{}\n", "a/x.csv.gz": b"1\n", "a/x.csv": b"2\n"}
    assert passed(found) == {"a/in/deep.tgz": "an archive inside an archive inside an archive"}


def test_what_no_reader_can_use_is_passed_over_and_said(tmp_path: Path) -> None:
    members = {
        "__MACOSX/exp/._m.csv": b"\0\1",
        "exp/.DS_Store": b"x",
        "exp/a.png": b"\x89PNG\r\n",
        "exp/model.pt": zipped({"data.pkl": b"\x80\x02"}),
        "exp/weights.bin": b"\1\2\0\3",
        "exp/nothing.log": b"\n",
        "exp/book.xlsx": zipped({"[Content_Types].xml": b"<x/>"}),
        "exp/m.csv": b"a,b\n",
    }
    found = opened(tmp_path, zipped(members))
    assert list(contents(found)) == ["exp/m.csv"]
    assert passed(found) == {
        "__MACOSX/exp/._m.csv": "a hidden file",
        "exp/.DS_Store": "a hidden file",
        "exp/a.png": "a picture",
        "exp/model.pt": "a zip archive without the ending of one",
        "exp/weights.bin": "a binary file",
        "exp/nothing.log": "empty",
        "exp/book.xlsx": "an Office workbook: save the sheet as CSV",
    }


def _link(kind: bytes, name: str = "exp/latest") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("exp/ok.csv"), io.BytesIO())
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "../../etc/passwd"
        archive.addfile(info)
    return out.getvalue()


def _zip_link() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("exp/latest")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def _encrypted() -> bytes:
    data = bytearray(zipped({"exp/secret.csv": b"a,b\n"}))
    data[6] |= 1
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def _twice() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("exp/a.csv", b"1\n")
        archive.writestr("exp/a.csv", b"2\n")
    return out.getvalue()


def _wrong_checksum() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("exp/a.csv", b"telling,bytes\n")
    return out.getvalue().replace(b"telling", b"Telling")


ZEROS = b"0" * 600_000
REFUSED = {
    "dots in a zip": (zipped({"ok.csv": b"a\n", "../../evil.csv": b"a\n"}), "'..'.*evil"),
    "dots in the middle": (zipped({"a/../../evil.csv": b"a\n"}), r"'\.\.'.*evil"),
    "dots with backslashes": (zipped({"..\\evil.csv": b"a\n"}), r"'\.\.'.*evil"),
    "absolute in a zip": (zipped({"/etc/evil.csv": b"a\n"}), "absolute.*evil"),
    "a drive": (zipped({"C:\\evil.csv": b"a\n"}), "absolute.*evil"),
    "dots in a tar": (tarred({"../evil.csv": b"a\n"}), r"'\.\.'.*evil"),
    "absolute in a tar": (tarred({"/etc/evil.csv": b"a\n"}), "absolute.*evil"),
    "symbolic link": (_link(tarfile.SYMTYPE), "link.*exp/latest"),
    "hard link": (_link(tarfile.LNKTYPE), "link.*exp/latest"),
    "device": (_link(tarfile.CHRTYPE), "device.*exp/latest"),
    "fifo": (_link(tarfile.FIFOTYPE), "device.*exp/latest"),
    "link in a zip": (_zip_link(), "link.*exp/latest"),
    "encrypted": (_encrypted(), "encrypted.*exp/secret.csv"),
    "twice in a zip": (_twice(), "same name.*exp/a.csv"),
    "twice after cleaning": (tarred({"exp/a.csv": b"1\n", "exp/./a.csv": b"2\n"}), "same name.*a.csv"),
    "bomb in a zip": (zipped({"exp/bomb.csv": ZEROS}), "20 times.*exp/bomb.csv"),
    "bomb in a gz": (gzip.compress(ZEROS), "20 times"),
    "bomb in a tgz": (gzip.compress(tarred({"exp/bomb.csv": ZEROS})), "20 times"),
    "bomb in a member passed over": (gzip.compress(tarred({"exp/.bomb": ZEROS})), "20 times"),
    "bomb inside": (zipped({"in.gz": gzip.compress(ZEROS)}), "20 times.*in.gz"),
    "too large": (
        tarred({f"exp/{i}.csv": os.urandom(300_000).hex().encode() for i in range(3)}),
        "1 MB|0.00105 GB",
    ),
    "too many": (zipped({f"exp/{i}.csv": b"a\n" for i in range(21)}), "more than 20 members"),
    "too many folders": (tarred({f"exp/{i}/": b"" for i in range(21)}), "more than 20 members"),
    "long name": (zipped({"exp/" + "x" * 60: b"a\n"}), "60 characters.*xxx"),
    "wrong checksum": (_wrong_checksum(), "damaged"),
    "cut zip": (zipped(FILES)[:-30], "damaged"),
    "cut gz": (gzip.compress(os.urandom(5_000).hex().encode())[:-200], "damaged"),
    "cut tar": (tarred({"exp/a.csv": b"a,b\n" * 1_000})[:2_000], "damaged"),
    "workbook": (zipped({"[Content_Types].xml": b"<x/>"}), "workbook"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_member_and_nothing_left(tmp_path: Path, case: str) -> None:
    data, said = REFUSED[case]
    with pytest.raises(UnreadableFileError, match=f"(?s){said}") as caught:
        opened(tmp_path, data)
    assert "runs.zip" in caught.value.where and caught.value.remedy
    assert [p.name for p in tmp_path.iterdir()] == ["upload"]


def test_a_zip_that_understates_a_member_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"exp/bomb.csv": ZEROS}))
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 100)
    with pytest.raises(UnreadableFileError, match="damaged"):
        opened(tmp_path, bytes(data))


def test_a_zip_whose_directory_points_outside_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": b"text"}))
    struct.pack_into("<I", data, data.index(b"PK\x05\x06") + 16, 1 << 20)
    with pytest.raises(UnreadableFileError, match="damaged or cut off"):
        opened(tmp_path, bytes(data))


def test_a_huge_table_of_contents_is_refused_before_it_is_read(tmp_path: Path, monkeypatch) -> None:
    data = bytearray(zipped({"a.csv": b"a\n"}))
    struct.pack_into("<I", data, data.index(b"PK\x05\x06") + 12, 1 << 30)

    def never(*_: object) -> None:
        raise AssertionError("the zip was opened")

    monkeypatch.setattr(module.zipfile, "ZipFile", never)
    with pytest.raises(UnreadableFileError, match="members"):
        opened(tmp_path, bytes(data))


def test_a_tar_header_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 4 << 30
    with pytest.raises(UnreadableFileError, match="mebibyte"):
        opened(tmp_path, info.tobuf(tarfile.USTAR_FORMAT) + bytes(10_240))


def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    def cancel(stage: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    (tmp_path / "upload").write_bytes(zipped(FILES))
    with pytest.raises(KeyboardInterrupt):
        unpack(tmp_path / "upload", "runs.zip", tmp_path / "out", SMALL, cancel)
    assert [p.name for p in tmp_path.iterdir()] == ["upload"]


def test_memory_does_not_grow_with_the_member(tmp_path: Path) -> None:
    block = os.urandom(1 << 20).hex().encode()
    data = gzip.compress(block * 40, compresslevel=1)
    tracemalloc.start()
    found = opened(tmp_path, data, "big.csv.gz", Limits(1 << 30))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.files[0].path.stat().st_size == 40 * len(block)
    assert peak < 12 << 20


def test_members_come_in_the_order_a_person_expects() -> None:
    assert sorted(["run_10/a", "run_2/a", "run_2/B"], key=natural) == ["run_2/B", "run_2/a", "run_10/a"]


@settings(max_examples=some(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["zip", "tar", "gz"]),
    at=st.floats(0, 1),
    value=st.integers(0, 255),
    cut=st.booleans(),
)
def test_damage_is_a_refusal_or_files_of_the_right_names(tmp_path, kind, at, value, cut) -> None:
    whole = {"zip": zipped(FILES), "tar": tarred(FILES), "gz": gzip.compress(tarred(FILES))}[kind]
    data = bytearray(whole)
    place = min(int(at * len(data)), len(data) - 1)
    data[place] = value
    path, out = tmp_path / "upload", tmp_path / "out"
    path.write_bytes(bytes(data[:place] if cut else data))
    if not is_archive(path):
        return
    try:
        unpack(path, "runs", out, SMALL)
    except UnreadableFileError:
        assert not out.exists()
    else:
        assert all(p.parent == out for p in out.rglob("*"))
        module.shutil.rmtree(out)
