"""Damaged files of every readable format: nothing crashes, nothing is lost unseen, no number changes."""

import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.errors import UserError
from data.ingest import ingest_file, undo_upload
from data.ingest_files import ingest_files
from data.readers import REGISTRY, choose
from data.readers.base import Batch
from data.store import Store
from tests.examples import in_turn
from tests.faults.held import Truth, broken, held
from tests.faults.inputs import Sample, samples
from tests.faults.mutate import Damage, mutations

SAMPLES = samples()
QUICK, MANY = 3, 77
"""Damaged files of one sample, in `make test` and in `make test-full`."""
HOME_TABLES = ("steps", "step_phases", "metric_raw", "evals", "costs", "scheduler_jobs", "gpu_minutes")


def read(sample: Sample, data: bytes, folder: Path) -> Batch:
    """The way of every upload: spool, choose by content, read, reconcile."""
    source = spool_bytes(data, sample.name, folder)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    batch = choose(source, sample.choices).read(source, sample.choices, scratch)
    batch.reconcile()
    return batch


def damages(sample: Sample, many: int, seed: int) -> list[tuple[str, int, Damage]]:
    """`many` damaged files; the mutations take turns, each sample begins with another one."""
    names = sorted(mutations(sample))
    start = (SAMPLES.index(sample) * 5 + seed) % len(names)
    found: list[tuple[str, int, Damage]] = []
    for turn in range(4 * many):
        name = names[(start + turn) % len(names)]
        number = seed * 1000 + turn
        damage = mutations(sample)[name](sample, random.Random(f"{number}:{sample.title}:{name}"))
        if damage is not None:
            found.append((name, number, damage))
        if len(found) == many:
            break
    return found


def judge(sample: Sample, damage: Damage, truth: Truth, folder: Path) -> tuple[str, list[str]]:
    """What became of a damaged file, and what of its promise does not hold."""
    try:
        batch = read(sample, damage.data, folder)
    except UserError as error:
        wanted = damage.promise in ("same", "more") and not damage.may_be_refused
        return "refused", [f"refused: {error}"] if wanted else []
    if damage.promise == "refused":
        return "read", ["was read"]
    if batch.format != sample.format:
        wanted = damage.promise in ("same", "more")
        return "read as another format", [f"read as {batch.format}"] if wanted else []
    return "read", broken(sample, damage, truth, held(batch), batch.facts)


def run(sample: Sample, many: int, seed: int, folder: Path, record: Callable[[str, object], None]) -> None:
    whole = folder / "whole"
    batch = read(sample, sample.data, whole)
    assert batch.format == sample.format and batch.records
    truth = Truth(held(batch), batch.facts)
    wrong = []
    for number, (name, turn, damage) in enumerate(damages(sample, many, seed)):
        outcome, found = judge(sample, damage, truth, folder / str(number))
        record("damaged", (sample.format, name, outcome))
        wrong += [f"{name} {turn}: {text}" for text in found]
    assert not wrong, "\n".join(wrong[:10])


def test_every_readable_format_has_a_sample() -> None:
    assert {reader.format for reader in REGISTRY} == {sample.format for sample in SAMPLES}


@pytest.mark.parametrize("sample", in_turn(SAMPLES), ids=lambda sample: sample.title)
def test_damaged_files(sample: Sample, tmp_path: Path, record_property) -> None:
    run(sample, QUICK, 0, tmp_path, record_property)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_many_damaged_files(sample: Sample, tmp_path: Path, record_property) -> None:
    run(sample, MANY, 1, tmp_path, record_property)


def rows_of(store: Store) -> dict[str, int]:
    with store.view() as view:
        counts = {t: view.rows(f"SELECT count(*) FROM {t}")[0][0] for t in HOME_TABLES}
        counts["uploads"] = view.rows("SELECT count(*) FROM uploads")[0][0]
    return {name: n for name, n in counts.items() if n}


def into_home(store: Store, sample: Sample, data: bytes) -> str:
    """Load a damaged file, compare what is stored with its receipt, take it back."""
    try:
        receipt = ingest_file(store, io.BytesIO(data), sample.name, sample.choices)
    except UserError:
        assert not rows_of(store) and not list(store.spool.iterdir())
        return "refused by the home"
    stored = rows_of(store)
    assert receipt.records == receipt.stored + receipt.quarantined + sum(receipt.ignored.values())
    for table, n in receipt.rows_written.items():
        assert table not in HOME_TABLES or stored.get(table, 0) == n, table
    undo_upload(store, receipt.upload_id)
    assert not rows_of(store)
    return "stored and taken back"


def homes(
    chosen: list[Sample], many: int, seed: int, folder: Path, record: Callable[[str, object], None]
) -> None:
    store = Store.open(folder / "home")
    try:
        for sample in chosen:
            for name, _, damage in damages(sample, many, seed):
                record("damaged", (sample.format, name, into_home(store, sample, damage.data)))
    finally:
        store.close()


def test_damaged_files_in_a_home(tmp_path: Path, record_property) -> None:
    homes(SAMPLES[::12], 1, 2, tmp_path, record_property)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(8))
def test_many_damaged_files_in_a_home(part: int, tmp_path: Path, record_property) -> None:
    homes(SAMPLES[part::8], 5, 3, tmp_path, record_property)


def packed(sample: Sample, kind: str) -> bytes:
    """The sample in an archive, with a note beside it."""
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(sample.name, sample.data)
            archive.writestr("note.md", "a note\n")
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz" if kind == "tar.gz" else "w") as archive:
        member = tarfile.TarInfo(sample.name)
        member.size = len(sample.data)
        archive.addfile(member, io.BytesIO(sample.data))
    return out.getvalue()


def broken_archives(many: int, seed: int, folder: Path, record: Callable[[str, object], None]) -> None:
    plain = [sample for sample in SAMPLES if sample.shape != "folder"]
    store = Store.open(folder / "home")
    try:
        for number in range(many):
            rng = random.Random(f"{seed}:{number}")
            sample, kind = rng.choice(plain), rng.choice(["zip", "tar", "tar.gz"])
            data = bytearray(packed(sample, kind))
            for _ in range(rng.randint(0, 3)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            data = data[: rng.randint(1, len(data))] if rng.random() < 0.3 else data
            path = folder / f"{number}.{kind}"
            path.write_bytes(bytes(data))
            try:
                outcome = "read" if ingest_files(store, path).receipts else "nothing in it"
            except UserError:
                outcome = "refused"
            record("damaged", (sample.format, f"archive {kind}", outcome))
    finally:
        store.close()


def test_damaged_archives(tmp_path: Path, record_property) -> None:
    broken_archives(12, 0, tmp_path, record_property)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_many_damaged_archives(tmp_path: Path, record_property) -> None:
    broken_archives(200, 1, tmp_path, record_property)
