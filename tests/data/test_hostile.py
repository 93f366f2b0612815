"""Files made to break the ingest: refused with place and remedy, or taken with every record accounted for."""

import io
import threading

import pytest

from data.errors import UnreadableFileError, UserError
from data.ingest import ingest_file
from data.parse import csvio
from data.readers import templates

HUGE = 10**26


def uploads(store):
    with store.view() as view:
        return view.rows("SELECT count(*) FROM uploads")[0][0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.csv", "", "empty"),
        ("header.csv", "step,step_s,tok_gen\n", "no data rows"),
        ("nul.csv", "step,step_s,tok_gen\n1,2,3\n\0,2,3\n", "NUL"),
        ("twice.csv", "step,step_s,step_s\n1,2,3\n", "appears 2 times"),
        ("wide.csv", ",".join(f"c{i}" for i in range(10_000)) + "\n1\n", "no reader knows"),
        ("huge.jsonl", f'{{"step":{HUGE},"data":{{"timing_s/step":1,"critic/rewards/mean":2}}}}\n', "step"),
        ("deep.jsonl", '{"step":1,"data":' + '{"a":' * 20_000 + "1" + "}" * 20_001 + "\n", "not clear"),
    ],
)
def test_is_refused_with_its_place_and_a_remedy(store, name, text, words):
    with pytest.raises(UserError, match=words) as caught:
        ingest_file(store, io.BytesIO(text.encode()), name)
    assert name in caught.value.where and caught.value.remedy
    assert uploads(store) == 0 and not list(store.spool.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "counts"),
    [
        ("steps.csv", f"step,step_s,tok_gen\n1,2,3\n{HUGE},2,3\n-{HUGE},2,3\n", (3, 1, 2)),
        ("quote.csv", 'step,step_s,tok_gen\n1,2,3\n2,"3,4\n3,4,5\n', (3, 2, 1)),
        ("mixed.csv", "step,step_s,tok_gen\r\n1,2,3\n2,3,4\r\n", (2, 2, 0)),
        ("verl.log", f"step:{HUGE} - timing_s/step:1 - critic/rewards/mean:2\n"
         "step:1 - timing_s/step:1 - critic/rewards/mean:2\n", (2, 1, 1)),
        ("dates.csv", "run,started_at,status\nr,0001-01-01T00:00:00+14:00,completed\n", (1, 1, 0)),
        ("sql.csv", "run,step,step_s\n'; DROP TABLE runs; --,1,2\n", (1, 1, 0)),
    ],
)  # fmt: skip
def test_is_taken_with_every_record_accounted_for(store, name, text, counts):
    receipt = ingest_file(store, io.BytesIO(text.encode()), name)
    assert (receipt.records, receipt.stored, receipt.quarantined) == counts


@pytest.mark.parametrize(
    "name", ["a 'q\".csv", "new\nline.csv", "<b>h'&.csv", "😀.csv", "..csv", "x" * 240 + ".csv"]
)
def test_odd_file_names_load(store, name):
    assert ingest_file(store, io.BytesIO(b"step,step_s,tok_gen\n1,2,3\n"), name).file == name


def test_folders_lost_files_and_symlinks(store, tmp_path):
    real = tmp_path / "real.csv"
    real.write_text("step,step_s,tok_gen\n1,2,3\n")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "link.csv").symlink_to(real)
    with pytest.raises(UserError, match="folder"):
        ingest_file(store, tmp_path)
    for name in ("gone.csv", "dangling.csv"):
        with pytest.raises(UserError, match="no such file"):
            ingest_file(store, tmp_path / name)
    assert ingest_file(store, tmp_path / "link.csv").stored == 1
    real.unlink()
    with store.view() as view:
        (sha,) = view.rows("SELECT sha256 FROM uploads")[0]
    assert store.original(sha).read_text() == "step,step_s,tok_gen\n1,2,3\n"


def test_noise_under_a_good_header_is_refused_early(store, monkeypatch):
    monkeypatch.setattr(templates, "HOPELESS_ROWS", 100)
    assert csvio.HOPELESS_ROWS > 100
    text = "step,step_s,tok_gen\n" + "x,y,z\n" * 5_000
    with pytest.raises(UnreadableFileError, match="Most rows") as caught:
        ingest_file(store, io.BytesIO(text.encode()), "noise.csv")
    assert "line 2" in caught.value.where
    assert uploads(store) == 0


def test_the_same_file_from_two_sides_at_once_is_stored_once(store):
    text = b"step,step_s,tok_gen\n" + b"".join(b"%d,2,3\n" % i for i in range(2_000))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ingest_file(store, io.BytesIO(text), "s.csv")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bool(receipt.duplicate_of) for receipt in found) == [False, True, True, True]
    assert uploads(store) == 1


@pytest.mark.parametrize(
    ("header", "cells", "column", "words"),
    [
        ("run,status,attempt", "r,completed,{}", "attempt", "beyond the range of a whole number"),
        ("step,step_s,tok_gen", "{},2,3", "step", "beyond the range of a whole number"),
    ],
)
@pytest.mark.parametrize("number", [2**63, 2**64, "1e30"])
def test_whole_numbers_out_of_range_set_their_record_aside(store, header, cells, column, words, number):
    good = cells.format(1)
    receipt = ingest_file(store, io.BytesIO(f"{header}\n{good}\n{cells.format(number)}\n".encode()), "n.csv")
    assert (receipt.records, receipt.stored) == (2, 1)
    assert receipt.set_aside[0]["line"] == 3
    assert column in receipt.set_aside[0]["reason"] and words in receipt.set_aside[0]["reason"]


_EVALS = "run,step,benchmark,metric,score,n_tasks,k,attempt"
_IMPLAUSIBLE = [
    (_EVALS, "r,1,b,acc,0.5,{},1,1", "0", "less than 1", True),
    (_EVALS, "r,1,b,acc,0.5,3,{},1", str(2**31), "beyond the range", True),
    (_EVALS, "r,1,b,acc,0.5,3,1,{}", str(2**31), "beyond the range", False),
    (_EVALS, "r,1,b,acc,{},3,1,1", "NaN", "not a number", False),
    ("eval_id,task,passed,repeat", "e,t,1,{}", str(2**40), "beyond the range", False),
    ("step,step_s,tok_gen", "{},2,3", "-1", "less than 0", False),
    ("run,status,gpus,role", "r,completed,{},train", "100000000", "GPUs", True),
    ("run,status,started_at", "r,completed,{}", "1999-12-31T00:00:00Z", "a year outside", True),
    ("run,status,started_at", "r,completed,{}", "2101-01-01T00:00:00Z", "a year outside", True),
]


@pytest.mark.parametrize(("header", "cells", "odd", "words", "kept"), _IMPLAUSIBLE)
def test_implausible_cells_are_set_aside_with_a_reason(store, header, cells, odd, words, kept):
    receipt = ingest_file(store, io.BytesIO(f"{header}\n{cells.format(odd)}\n".encode()), "n.csv")
    assert receipt.stored == int(kept)
    assert receipt.set_aside[0]["line"] == 2
    assert words in receipt.set_aside[0]["reason"]


@pytest.mark.parametrize(("number", "stored"), [(2**31, 3), (2**63, 2)])
def test_gpu_places_out_of_range_do_not_stop_the_import(store, number, stored):
    text = (
        "ts,host,gpu_index,gpu_util\n"
        "2026-01-01T00:00:00Z,n1,0,0.5\n2026-01-01T00:01:00Z,n1,0,0.5\n"
        f"2026-01-01T00:00:00Z,n1,{number},0.5\n"
    )
    receipt = ingest_file(store, io.BytesIO(text.encode()), "g.csv")
    assert (receipt.records, receipt.stored) == (3, stored)
    said = [(one["line"], one["column"]) for one in receipt.set_aside]
    assert said == ([(4, "gpu_index")] if stored == 3 else [])
    assert sum(receipt.ignored.values()) == 3 - stored
