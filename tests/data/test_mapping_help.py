"""Proposals from names, doubts from numbers, first rows of a refused table, and mappings that are kept."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.ingest import ingest_file, rebuild
from data.mapping.check import summarise
from data.mapping.guess import as_choice, guess, unit_of
from data.mapping.language import make_plan, parse_meaning
from data.mapping.saved import saved_mapping
from data.parse.table_records import TableSample, file_sample, table_sample
from data.readers import choose
from data.readers.base import Choices
from data.store import Store


def sample(text: str) -> TableSample:
    header, *rows = [tuple(line.split(",")) for line in text.strip().split("\n")]
    return TableSample(header, tuple(rows))


@pytest.mark.parametrize(
    ("text", "target", "wanted"),
    [
        (
            "Iteration,step time (ms),tokens_cumulative,MFU %,Date\n1,900,5,31,2026-01-02 10:00:00",
            "steps",
            {
                "Iteration": "steps.step",
                "step time (ms)": "steps.step_s|unit=ms",
                "tokens_cumulative": "steps.tok_total|basis=cumulative",
                "MFU %": "steps.mfu_frac|unit=%",
                "Date": "steps.ts",
            },
        ),
        (
            "clock,node,card,load_pct,power_mW,fb_MiB\n31/01/2026 10:00:00,a,0,50,1000,3",
            "gpu_samples",
            {
                "clock": "gpu_samples.ts|unit=day/month/year",
                "node": "gpu_samples.host",
                "card": "gpu_samples.gpu_index",
                "load_pct": "gpu_samples.gpu_util|unit=%",
                "power_mW": "gpu_samples.power_w|unit=mW",
                "fb_MiB": "gpu_samples.mem_bytes|unit=MiB",
            },
        ),
        (
            "iteration,timing_s/gen,critic/rewards/mean\n1,20,0.3",
            "steps",
            {
                "iteration": "steps.step",
                "timing_s/gen": "step_phases.rollout",
                "critic/rewards/mean": "steps.reward_mean",
            },
        ),
    ],
)
def test_names_propose_fields_with_units(text: str, target: str, wanted: dict[str, str]) -> None:
    found = guess(sample(text))
    assert found.target.name == target
    assert as_choice(found) == wanted
    assert make_plan(as_choice(found)).target.name == target


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ("timestamp,power,temperature,memory", None),
        ("time,host,load,memory", None),
        ("date,price,volume", None),
        ("id,name,value", None),
        ("timestamp,level,message", None),
        ("duration,count", None),
        ("alpha,beta", None),
        ("timestamp,gpu_power,memory", "gpu_samples"),
        ("time,sm_active,power", "gpu_samples"),
        ("clock,card,load,draw", "gpu_samples"),
        ("step,loss", "steps"),
        ("job,start,state", "scheduler_jobs"),
        ("env,exec,queue", "env_events"),
        ("date,amount", "costs"),
        ("step,phase,seconds", "step_phases"),
    ],
)
def test_a_kind_of_row_is_only_told_by_names_that_mean_nothing_else(header: str, target: str | None) -> None:
    cells = {"timestamp": "2026-01-02 10:00:00", "time": "2026-01-02 10:00:00", "date": "2026-01-02"}
    cells |= {"clock": "2026-01-02 10:00:00", "start": "2026-01-02 10:00:00", "state": "COMPLETED"}
    row = ",".join(
        cells.get(name, "rollout" if name in ("phase", "env") else "7") for name in header.split(",")
    )
    found = guess(sample(f"{header}\n{row}"))
    assert (found.target.name if found.sure else None) == target


def test_a_name_alone_is_not_enough() -> None:
    assert "when" not in as_choice(guess(sample("it,when\n1,lunch\n2,dinner"), "steps"))


@pytest.mark.parametrize(
    ("meaning", "cells", "says"),
    [
        ("gpu_samples.gpu_util", ["0.5", *["97"] * 32], "97 % of the values are above 1: percent?"),
        ("gpu_samples.gpu_util|unit=%", ["0.5", "0.9"], "shares already"),
        ("steps.step_s", ["41000", "42000"], "milliseconds"),
        ("gpu_samples.power_w", ["412000", "390000"], "milliwatts"),
        ("gpu_samples.mem_bytes", ["40960", "40961"], "MiB or GiB"),
        ("steps.tok_total", ["10", "20", "30", "40"], "running total since the start?"),
        ("steps.tok_total|basis=cumulative", ["10", "7", "9", "8"], "no running total?"),
        ("steps.ts", ["2026-01-02 10:00:00"], "name no zone"),
        ("steps.ts", ["31.01.2026 10:00"], "pick how the dates are written"),
        ("steps.step_s", ["fast", "slow"], "No cell can be read"),
    ],
)
def test_numbers_that_do_not_fit_are_doubted(meaning: str, cells: list[str], says: str) -> None:
    found = summarise(cells, parse_meaning(meaning))
    assert any(says in doubt for doubt in found.doubts), found.doubts


@pytest.mark.parametrize(
    ("meaning", "cells"),
    [
        ("gpu_samples.gpu_util|unit=%", ["50", "97"]),
        ("steps.step_s|unit=ms", ["41000", "42000"]),
        ("steps.tok_total", ["10", "12", "9", "11"]),
        ("steps.ts", ["2026-01-02T10:00:00Z"]),
    ],
)
def test_what_fits_is_not_doubted(meaning: str, cells: list[str]) -> None:
    assert summarise(cells, parse_meaning(meaning)).doubts == ()


def test_a_summary_is_in_base_units_and_counts_what_is_missing() -> None:
    found = summarise(["1500", "", "N/A", "2500"], parse_meaning("steps.step_s|unit=ms"))
    assert (found.low, found.high, found.missing, found.rows, found.bad) == (1.5, 2.5, 2, 4, 0)


def test_a_refusal_carries_the_first_rows_of_a_table(tmp_path: Path) -> None:
    text = "alpha;beta\n" + "".join(f"{i};{i * i}\n" for i in range(100))
    with pytest.raises(UnreadableFileError) as caught:
        choose(spool_bytes(text.encode(), "x.csv", tmp_path), Choices())
    assert caught.value.table is not None
    assert caught.value.table.header == ("alpha", "beta")
    assert caught.value.table.rows[3] == ("3", "9")
    assert len(caught.value.table.rows) == 40
    assert TableSample.from_dict(caught.value.table.to_dict()) == caught.value.table


def test_parquet_and_json_have_first_rows_too_and_prose_has_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"alpha": [1.5, None], "beta": ["x", "y"]}), tmp_path / "t.parquet")
    found = table_sample(spool_bytes((tmp_path / "t.parquet").read_bytes(), "t.parquet", tmp_path / "a"))
    assert found == TableSample(("alpha", "beta"), (("1.5", "x"), ("", "y")))
    lines = b'{"alpha": 1, "in": {"beta": 2}}\n{"alpha": 3, "in": {"beta": 4}}\n'
    found = table_sample(spool_bytes(lines, "t.jsonl", tmp_path / "b"))
    assert found is not None
    assert found.header == ("alpha", "in.beta")
    prose = b"Dear all,\nthis, as you know, is no table, is it?\nYours, me\n"
    assert table_sample(spool_bytes(prose, "t.txt", tmp_path / "c")) is None


def test_the_mapping_is_kept_for_the_same_columns_and_replayed(store: Store) -> None:
    columns = {"it": "steps.step", "dur": "steps.step_s|unit=ms"}
    choices = Choices(format="mapped_table", columns=columns, timezone="Europe/Berlin")
    assert saved_mapping(store.workspace, ["it", "dur"]) is None
    receipt = ingest_file(store, io.BytesIO(b"it,dur\n1,1500\n2,2500\n"), "a.csv", choices)
    assert (receipt.format, receipt.confidence, receipt.stored) == ("mapped_table", 1.0, 2)
    kept = saved_mapping(store.workspace, ["dur", "it"])
    assert kept is not None
    assert (dict(kept.columns), kept.timezone) == (columns, "Europe/Berlin")
    assert rebuild(store) == []
    with store.view() as view:
        assert view.rows("SELECT step, step_s FROM steps ORDER BY step") == [(1, 1.5), (2, 2.5)]


def test_a_mapping_of_other_columns_is_not_offered(store: Store) -> None:
    choices = Choices(format="mapped_table", columns={"it": "steps.step", "dur": "steps.step_s"})
    ingest_file(store, io.BytesIO(b"it,dur\n1,1500\n"), "a.csv", choices)
    assert saved_mapping(store.workspace, ["it", "dur", "more"]) is None


def test_a_kept_original_is_sampled_from_its_beginning(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * 2}\n" for i in range(200_000))
    (tmp_path / "long.csv").write_text("alpha,beta\n" + rows)
    pq.write_table(pa.table({"alpha": list(range(50_000)), "beta": [1.5] * 50_000}), tmp_path / "t.parquet")
    for name, last in (("long.csv", ("39", "78")), ("t.parquet", ("39", "1.5"))):
        found = file_sample(tmp_path / name, name)
        assert found is not None
        assert (found.header, found.rows[-1]) == (("alpha", "beta"), last)


def test_a_saved_mapping_that_no_longer_fits_is_not_offered(store: Store) -> None:
    choices = Choices(format="mapped_table", columns={"it": "steps.step", "dur": "steps.step_s"})
    ingest_file(store, io.BytesIO(b"it,dur\n1,1500\n"), "a.csv", choices)
    with store.workspace.connect() as con:
        con.execute("UPDATE mappings SET document = replace(document, 'steps.step_s', 'steps.gone')")
    assert saved_mapping(store.workspace, ["it", "dur"]) is None


@pytest.mark.parametrize(
    ("field", "column", "cell", "unit"),
    [
        ("steps.step_s", "wall_ms", "118000", "ms"),
        ("step_phases.rollout", "decode_ms", "6", "ms"),
        ("steps.step_s", "took_sec", "6", "s"),
        ("steps.step_s", "took_min", "6", "min"),
        ("evals.score", "gsm_pct", "61", "%"),
        ("evals.score", "gsm_frac", "0.6", "fraction"),
        ("steps.truncated_frac", "cut_percent", "6", "%"),
        ("steps.tok_total", "seen_k", "6", "K"),
        ("gpu_samples.mem_bytes", "used_gib", "6", "GiB"),
        ("gpu_samples.mem_bytes", "used_mb", "6", "MB"),
        ("gpu_samples.power_w", "board_mw", "6", "mW"),
        ("gpu_samples.power_w", "board_w", "6", "W"),
        ("steps.step_s", "wall", "6", None),
    ],
)
def test_the_end_of_a_name_tells_the_unit_of_any_field(
    field: str, column: str, cell: str, unit: str | None
) -> None:
    assert unit_of(parse_meaning(field).field, column, [cell]) == unit


def test_times_of_a_step_in_milliseconds_are_proposed() -> None:
    found = as_choice(guess(sample("it,wall_ms,decode_ms,opt_ms\n1,118000,60000,50000\n2,9,8,7")))
    assert found == {
        "it": "steps.step",
        "wall_ms": "steps.step_s|unit=ms",
        "decode_ms": "step_phases.rollout|unit=ms",
        "opt_ms": "step_phases.train|unit=ms",
    }


def test_the_receipt_of_a_mapped_file_repeats_the_doubts(store: Store) -> None:
    mapped = Choices(format="mapped_table", columns={"it": "steps.step", "wall": "steps.step_s"})
    text = b"it,wall,x\n1,118000,1\n2,117000,1\n"
    receipt = ingest_file(store, io.BytesIO(text), "own.csv", mapped)
    assert any(text.startswith("Column wall: The longest takes 33 hours") for text in receipt.warnings)
