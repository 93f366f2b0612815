"""What the first bytes of a file say it is: text, one of the binary kinds we read, an archive, or neither."""

from data.errors import UnreadableFileError
from data.logs.tfrecord import is_event_file

HEAD_BYTES = 64 << 10
BUNDLE_MARK = ".ipd-bundle-1"
"""Name of the first member of our own tar of a run folder."""
_TAR_MAGIC_AT = 257
_PACKERS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_WORKBOOK = (b"[Content_Types].xml", b"xl/workbook", b"mimetypeapplication/vnd.oasis")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ALONE = "Load it through the page or `cli.py import`, which unpack it."
_BINARIES = (
    (b"\x1f\x8b", "a gzip archive", _ALONE),
    (b"PK\x03\x04", "a zip archive or an Office workbook", _ALONE),
    (b"PK\x05\x06", "an empty zip archive", "Load the file itself, not an archive."),
    (b"BZh", "a bzip2 archive", _ALONE),
    (b"\xfd7zXZ\x00", "an xz archive", _ALONE),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "Unpack it (unzstd) and load the text file inside."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it and load the text file inside."),
    (b"Rar!\x1a\x07", "a rar archive", "Unpack it and load the text file inside."),
    (b"%PDF", "a PDF", "Export the table behind it as CSV and load that."),
    (b"\x89PNG", "a picture", "Export the data of the chart as CSV and load that."),
    (b"\xff\xd8\xff", "a picture", "Export the data of the chart as CSV and load that."),
    (b"GIF8", "a picture", "Export the data of the chart as CSV and load that."),
    (b"\x80\x04\x95", "a Python pickle", "Export it as CSV or JSON lines; pickles are never opened."),
    (b"\x80\x02", "a Python pickle", "Export it as CSV or JSON lines; pickles are never opened."),
    (b"\x93NUMPY", "a NumPy array", "Export it as CSV and load that."),
    (b"SQLite format 3\x00", "a SQLite database", "Export the table as CSV and load that."),
    (b"\x7fELF", "a program", "Load a text file."),
)


def kind_of(head: bytes) -> str:
    """`Source.kind` by first bytes: parquet, tfevents, folder (our bundle) or text (all else)."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if is_tar(head) and head.startswith(BUNDLE_MARK.encode() + b"\0"):
        return "folder"
    return "tfevents" if is_event_file(head) else "text"


def is_tar(head: bytes) -> bool:
    """True for the first bytes of a tar archive (POSIX or GNU), our bundle among them."""
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


def archive_kind(head: bytes) -> str | None:
    """zip, workbook (a zip of an Office program), tar, gzip, bzip2 or xz; None for anything else."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "workbook" if any(sign in head[:4096] for sign in _WORKBOOK) else "zip"
    if is_tar(head):
        return None if kind_of(head) == "folder" else "tar"
    return next((name for magic, name in _PACKERS if head.startswith(magic)), None)


def binary_kind(head: bytes) -> str | None:
    """What a file that no reader can use is, in words; None for text and the binary kinds we read."""
    found = next((what for magic, what, _ in _BINARIES if head.startswith(magic)), None)
    if found is None and kind_of(head) == "text" and b"\0" in head and not head.startswith(_WIDE_MARKS):
        return "a binary file"
    return found


def refuse_binary(head: bytes, name: str) -> None:
    """Raise UnreadableFileError for the first bytes of an archive or another known binary format."""
    if archive_kind(head) == "tar":
        raise UnreadableFileError("This is a tar archive, not a text file", name, _ALONE)
    for magic, what, remedy in _BINARIES:
        if head.startswith(magic):
            raise UnreadableFileError(f"This is {what}, not a text file", name, remedy)
