"""nvidia-smi logs: every record is accounted for whatever the lines hold, and real files give their facts."""

import csv
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.arrival.spool import spool
from data.errors import UnreadableFileError
from data.readers.base import Choices
from data.readers.nvidia_smi import NvidiaSmiReader
from tests.data.test_nvidia_smi import HEAD, read, samples
from tests.examples import some

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"

ODD = st.sampled_from(
    ["34 %", "0 %", "[N/A]", "", "150 %", "x", "5", "-1 %", '"34 %"', '"a\nb"', "1,5", "nan", "ERR!"]
)
LINES = st.lists(
    st.one_of(
        st.builds(
            lambda s, i, u, m: f"2026/01/01 00:00:{s:02d}, {i}, GPU-{i}, {u}, {m}, 5 W",
            st.integers(0, 59), st.integers(0, 3), ODD, st.sampled_from(["5 MiB", "[N/A]", "7 KiB", "?"]),
        ),
        st.sampled_from([HEAD, "", "  ", "garbage", "2026/01/01 00:00:01, 0", "1,2,3,4,5,6,7,8",
            "not a time, 0, GPU-0, 1 %, 1 MiB, 1 W"]),
    ),
    min_size=1, max_size=15,
)  # fmt: skip


@given(lines=LINES, newline=st.booleans())
@example(lines=["garbage"], newline=False)
@settings(deadline=None, max_examples=some(12))
def test_records_always_balance(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: bool
) -> None:
    text = "\n".join([HEAD, *lines]) + ("\n" if newline else "")
    try:
        batch = read(text, tmp_path_factory.mktemp("smi"))
    except UnreadableFileError as error:
        cut = f"Line {len(text.splitlines())}, the last, is cut in the middle of a row"
        assert "no data rows" in str(error) or (not newline and cut in str(error))
        return
    aside = sum(one.column is None for one in batch.set_aside)
    assert batch.records == batch.stored + aside + sum(batch.ignored.values())
    assert (sum(len(samples(batch)) for _ in batch.gpu_parts)) == batch.stored
    physical = text.split("\n")
    for one in batch.set_aside:
        # A record may hold newlines in quotes: it is named by the line it starts on.
        assert one.text.split("\n")[0].strip().strip('"') in "\n".join(physical[one.line - 1 : one.line + 3])


def canonical() -> list[tuple[str, str, str, float]]:
    path = CORPUS / "EXPECTED.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return [
            (r["file"], r["fact"], r["value"], float(r["tol"] or 0))
            for r in csv.DictReader(handle)
            if r["canonical"] == "yes" and r["file"].startswith(("gpu/nvsmi_rtx4090", "gpu/vc_query-gpu-"))
        ]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="real files are not beside the project")
@pytest.mark.parametrize("name", sorted({row[0] for row in canonical()}))
def test_canonical_facts_of_real_files(tmp_path: Path, name: str) -> None:
    source = spool(CORPUS / name, Path(name).name, tmp_path)
    reader = NvidiaSmiReader()
    assert reader.sniff(source).confidence > 0.9
    facts = reader.read(source, Choices(timezone="UTC"), tmp_path).facts
    for file, fact, want, tolerance in canonical():
        if file != name:
            continue
        got = facts[fact]
        if want == "missing":
            assert got is None, fact
        elif isinstance(got, str):
            assert got == want, fact
        else:
            assert got is not None, fact
            number = float(want)
            assert abs(float(str(got)) - number) <= tolerance * max(abs(number), 0.001), fact
