"""Our own templates: documented, read back as written, every row accounted for."""

import csv
import io
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.facts_base import PHASES, blank_facts
from data.gpu.parts import samples_sql
from data.ingest import ingest_file
from data.parse.values import is_missing
from data.queries import campaigns as queries
from data.readers.base import Batch, Choices
from data.readers.template_specs import CHOICES
from data.readers.templates import READERS as TEMPLATE_READERS
from data.readers.templates import TemplateReader, template_csv, template_docs, templates
from data.store import Store
from data.tables import tables
from tests.examples import some

READERS = {reader.template.name: reader for reader in TEMPLATE_READERS}


def read(name: str, text: str, folder: Path, file: str = "mine.csv", **choices: object) -> Batch:
    return READERS[name].read(spool_bytes(text.encode(), file, folder), Choices(**choices), folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(templates()))
def test_each_template_is_read_whole(tmp_path: Path, name: str) -> None:
    batch = read(name, template_csv(name), tmp_path)
    assert batch.records == batch.stored == len(templates()[name].examples)
    assert not batch.set_aside and not batch.unmapped and not batch.warnings
    assert batch.format == f"ipd_{name}_csv"
    assert set(blank_facts()) <= set(batch.facts)
    for table, frame in batch.tables.items():
        assert set(frame.columns) <= {column.name for column in tables()[table]}


@pytest.mark.parametrize("name", list(templates()))
def test_each_column_is_documented(name: str) -> None:
    docs = template_docs(name)
    header = next(csv.reader(io.StringIO(template_csv(name))))
    assert [row["column"] for row in docs] == header == list(templates()[name].names)
    for row in docs:
        assert row["description"] and row["type"]
        if row["column"] in CHOICES:
            assert all(word in row["description"] for word in CHOICES[row["column"]])
    assert {row["column"] for row in docs if row["required"]} == set(templates()[name].required)


TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=12).map(
    str.strip
)
WORD = TEXT.filter(lambda t: not is_missing(t))
AMOUNT = st.floats(0, 1e12).map(lambda x: round(x, 6))
RATIO = st.floats(0, 1).map(lambda x: round(x, 9))
TIME = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(lambda t: t.replace(microsecond=0))
SIGNED = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


def written(rows: list[dict[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {k: v.isoformat() + "Z" if isinstance(v, datetime) else v for k, v in row.items()} for row in rows
    )
    return out.getvalue()


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "run": WORD, "attempt": st.integers(1, 3), "step": st.integers(0, 10**6), "ts": TIME,
                "step_s": AMOUNT, "tok_gen": st.none() | AMOUNT, "truncated_frac": st.none() | RATIO,
                "reward_mean": st.none() | SIGNED, "my own metric": SIGNED,
            }
        ),
        min_size=1, max_size=8, unique_by=lambda r: (r["run"], r["attempt"], r["step"]),
    )
)  # fmt: skip
@settings(deadline=None, max_examples=some(15))
def test_steps_are_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    batch = read("steps", written(rows), tmp_path_factory.mktemp("t"))
    frame = batch.tables["steps"].astype(object)
    assert batch.stored == len(rows) and not batch.set_aside
    for row, got in zip(rows, frame.to_dict("records"), strict=True):
        for name, value in row.items():
            if name == "my own metric":
                continue
            assert (got[name] is None or got[name] != got[name]) if value is None else got[name] == value, (
                name
            )
    raw = batch.tables["metric_raw"]
    assert list(raw["value"]) == [row["my own metric"] for row in rows]
    assert set(raw["key"]) == {"my own metric"} and batch.mapped["my own metric"] == "metric_raw"


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "eval_id": WORD, "task": WORD, "cluster": st.none() | WORD, "repeat": st.integers(0, 9),
                "passed": RATIO, "tokens": st.none() | AMOUNT,
            }
        ),
        min_size=1, max_size=8, unique_by=lambda r: (r["eval_id"], r["task"], r["repeat"]),
    )
)  # fmt: skip
@settings(deadline=None, max_examples=some(10))
def test_tasks_are_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    batch = read("eval_tasks", written(rows), tmp_path_factory.mktemp("t"))
    got = batch.tables["eval_tasks"]
    assert [list(got[name]) for name in ("eval_id", "task", "repeat", "passed")] == [
        [row[name] for row in rows] for name in ("eval_id", "task", "repeat", "passed")
    ]


JUNK = st.sampled_from(
    ["1", "2", "x", "", "nan", "-5", "1e3", '"a\nb"', '"1,5"', "34 %", "rollout", "train", "1.5", '"', "12 W"]
)
JUNK_LINES = st.lists(
    st.one_of(
        st.lists(JUNK, min_size=1, max_size=6).map(",".join),
        st.sampled_from(
            ["", "   ", "run,step,phase,seconds,kind", "r,1,rollout,2,wall", "r,1,rollout,3,wall"]
        ),
    ),
    min_size=1,
    max_size=15,
)


@given(lines=JUNK_LINES, newline=st.booleans())
@settings(deadline=None, max_examples=some(20))
def test_records_always_balance(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: bool
) -> None:
    text = "\n".join(["run,step,phase,seconds,kind", *lines]) + ("\n" if newline else "")
    try:
        batch = read("step_phases", text, tmp_path_factory.mktemp("t"))
    except UnreadableFileError as error:
        assert "no data rows" in str(error) or (not newline and "no other record" in str(error))
        return
    aside = sum(one.column is None for one in batch.set_aside)
    assert batch.records == batch.stored + aside + sum(batch.ignored.values())
    assert len(batch.tables.get("step_phases", ())) == batch.stored
    assert all(1 < one.line <= text.count("\n") + 1 and one.reason for one in batch.set_aside)


def test_bad_cells_and_rows_are_set_aside_with_their_line(tmp_path: Path) -> None:
    text = (
        "step,step_s,truncated_frac,tok_gen,ts\n"
        "1,10 s,34 %,1e3,2026-01-01T00:00:00Z\n"
        "2,12 W,1.5,-4,yesterday\n"
        "3.5,1,0,1,\n"
        ",1,0,1,\n"
        "4,500 ms,0.1,7,2026-01-01T02:00:00+02:00\n"
    )
    batch = read("steps", text, tmp_path)
    found = {(one.line, one.column) for one in batch.set_aside}
    assert found == {(3, "step_s"), (3, "truncated_frac"), (3, "tok_gen"), (3, "ts"), (4, None), (5, None)}
    assert (batch.records, batch.stored) == (5, 3)
    steps = batch.tables["steps"]
    assert list(steps["step_s"].fillna(-1)) == [10, -1, 0.5]
    assert steps["truncated_frac"][0] == 0.34
    assert steps["ts"][2] == datetime(2026, 1, 1)
    assert batch.timezone == "UTC"
    assert steps["run"].unique().tolist() == ["mine"] and steps["attempt"].unique().tolist() == [1]


def test_scores_are_checked_against_their_kind(tmp_path: Path) -> None:
    text = (
        "checkpoint,benchmark,score,score_kind\na,m,0.61,fraction\nb,m,61,\nc,m,61,percent\nd,m,1300,points\n"
        "e,m,101,percent\nf,m,61 %,fraction\n"
    )
    batch = read("evals", text, tmp_path)
    assert [one.line for one in batch.set_aside] == [3, 6]
    assert "outside 0..1" in batch.set_aside[0].reason
    assert list(batch.tables["evals"]["score"]) == [0.61, 61, 1300, 0.61]
    assert batch.tables["evals"]["eval_id"].is_unique


def test_a_repeated_row_is_ignored_and_a_contradiction_set_aside(tmp_path: Path) -> None:
    batch = read("steps", "run,step,step_s\nr,1,5\nr,1,5\nr,1,6\nr,2,5\n", tmp_path)
    assert (batch.stored, batch.ignored["duplicate row"]) == (2, 1)
    assert [(one.line, one.reason) for one in batch.set_aside] == [
        (4, "steps: r, 1, 1 has other values on line 2")
    ]


def test_runs_with_two_pools_and_two_attempts(tmp_path: Path) -> None:
    text = (
        "run,campaign,attempt,started_at,ended_at,status,pool,role,platform,gpus\n"
        "r,c,1,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,failed,train,train,h100-sxm,8\n"
        "r,c,1,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,failed,gen,rollout,h100-sxm,16\n"
        "r,c,2,2026-01-01T02:00:00Z,2026-01-01T03:00:00Z,completed,train,train,h100-sxm,8\n"
        "s,c,,,,,,,,\n"
    )
    batch = read("runs", text, tmp_path)
    assert (batch.records, batch.stored) == (4, 4)
    assert batch.tables["runs"]["run"].tolist() == ["r", "s"]
    assert batch.tables["attempts"][["run", "attempt"]].values.tolist() == [["r", 1], ["r", 2], ["s", 1]]
    allocations = batch.tables["allocations"]
    assert allocations["gpus"].tolist() == [8, 16, 8] and set(allocations["source"]) == {"file"}
    assert batch.facts["runs"] == 2 and batch.facts["run_names"] == "r;s"


def test_the_team_of_a_run_is_that_of_its_campaign(tmp_path: Path) -> None:
    text = "run,campaign,team,llm\na,math,red,x\nb,math,,x\nc,math,blue,x\nd,code,green,x\n"
    batch = read("runs", text, tmp_path)
    assert batch.tables["campaigns"].values.tolist() == [["math", "red"], ["code", "green"]]
    assert not batch.unmapped and (batch.stored, batch.mapped["team"]) == (4, "campaigns.team")
    assert batch.warnings == ["'team' of math has several values; the first one was kept."]
    twice = read("runs", "run,campaign,team,llm\na,math,red,x\na,math,blue,x\n", tmp_path)
    assert twice.warnings == batch.warnings and twice.stored == 1
    loose = read("runs", "run,team,llm\na,red,x\n", tmp_path)
    assert "campaigns" not in loose.tables and "without a campaign" in loose.warnings[0]


def test_the_team_in_a_runs_file_is_the_team_of_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("run,campaign,team,status\na,math,red,failed\nb,math,,failed\n")
    store = Store.open(tmp_path / "home")
    ingest_file(store, tmp_path / "runs.csv")
    with store.view() as view:
        found = queries.campaigns(view)
        assert found[["campaign", "team"]].values.tolist() == [["math", "red"]]
    store.close()


def test_a_run_without_role_is_colocated_and_says_so(tmp_path: Path) -> None:
    batch = read("runs", "run,platform,gpus\nr,h100-sxm,8\n", tmp_path)
    assert batch.tables["allocations"][["pool", "role"]].values.tolist() == [["all", "colocated"]]
    assert any("colocated" in text for text in batch.warnings)


def test_phases_and_facts(tmp_path: Path) -> None:
    rows = [f"r,1,{phase},{i + 1}" for i, phase in enumerate(PHASES)]
    batch = read("step_phases", "\n".join(["run,step,phase,seconds", *rows]) + "\n", tmp_path)
    for i, phase in enumerate(PHASES):
        assert batch.facts[f"phase_seconds[{phase}]"] == i + 1
    assert set(batch.tables["step_phases"]["kind"]) == {"wall"}


def test_gpu_samples_go_to_a_part(tmp_path: Path) -> None:
    text = (
        "ts,host,gpu_index,gpu_util,power_w,run\n2026-01-01T00:00:00Z,n1,0,0.5,100,r\n"
        "2026-01-01T00:00:10Z,n1,0,150 %,100,r\n"
        "2026-01-01T00:00:20+00:00,n1,0,25 %,1 kW,r\n2026-01-01T00:00:00Z,n2,0,1.5,,r\n"
    )
    batch = read("gpu_samples", text, tmp_path)
    frame = duckdb.sql(f"select * from {samples_sql(batch.gpu_parts[:1])} order by gpu_id, ts").df()
    assert frame["gpu_id"].tolist() == ["n1:0"] * 3 + ["n2:0"]
    assert frame["gpu_util"].fillna(-1).tolist() == [0.5, -1, 0.25, -1]
    assert frame["power_w"].fillna(-1).tolist() == [100, 100, 1000, -1]
    assert [(one.line, one.column) for one in batch.set_aside] == [(3, "gpu_util"), (5, "gpu_util")]
    assert batch.tables["gpus"]["run"].tolist() == ["r", "r"]
    assert batch.facts["gpus"] == 2 and batch.facts["hosts"] == 2


def test_other_names_and_chosen_columns(tmp_path: Path) -> None:
    batch = read("steps", "Run_Name,global_step,tokens,t\nr,1,5,9\n", tmp_path, columns={"t": "step_s"})
    row = batch.tables["steps"].to_dict("records")[0]
    assert (row["run"], row["step"], row["tok_total"], row["step_s"]) == ("r", 1, 5, 9)
    assert batch.mapped == {
        "Run_Name": "steps.run",
        "global_step": "steps.step",
        "tokens": "steps.tok_total",
        "t": "steps.step_s",
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("steps", "step,step_s\n", "no data rows"),
        ("steps", "step,step_s,step\n1,2,3\n", "'step' appears 2 times"),
        ("evals", "checkpoint,score\na,1\n", "needs a column 'benchmark'"),
    ],
)
def test_refusals_name_file_line_and_remedy(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UnreadableFileError, match=message) as caught:
        read(name, text, tmp_path)
    assert "mine.csv, line 1" in caught.value.where and caught.value.remedy


def test_readers_are_one_per_template() -> None:
    assert [reader.format for reader in TEMPLATE_READERS] == [t.format for t in templates().values()]
    assert all(isinstance(reader, TemplateReader) for reader in TEMPLATE_READERS)


def test_costs_are_booked_and_bad_rows_say_why(tmp_path: Path) -> None:
    text = (
        "day,charge_start,charge_end,bucket,billed_cost,currency,campaign,run,note\n"
        "2026-01-31,,,staff,4200,usd,c1,,\n"
        ",2026-01-01,2026-02-01,storage,310.5,EUR,,r1,\n"
        "2026-02-01,,,data,-12,USD,c1,,credit\n"
        "2026-02-01,,,rent,5,USD,c1,,\n"
        "2026-02-01,,,,5,,c1,,\n"
        "2026-02-01,,,data,5,USD,,,\n"
        ",,,data,5,USD,c1,,\n"
        "31.01.2026,,,data,5,USD,c1,,\n"
        "2026-02-01,,,data,,USD,c1,,\n"
    )
    batch = read("costs", text, tmp_path)
    frame = batch.tables["costs"]
    assert list(frame["billed_cost"]) == [4200.0, 310.5, -12.0, 5.0, 5.0]
    assert list(frame["currency"]) == ["USD", "EUR", "USD", "USD", "USD"]
    assert [str(d) for d in frame["day"]] == [
        "2026-01-31", "2026-01-01", "2026-02-01", "2026-02-01", "2026-02-01"
    ]  # fmt: skip
    assert list(frame["bucket"]) == ["staff", "storage", "data", "other", "other"]
    reasons = {s.line: s.reason for s in batch.set_aside if s.column is None}
    assert set(reasons) == {7, 8, 9, 10} and "campaign" in reasons[7] and "day" in reasons[8]
    assert batch.records == 9 and batch.stored == 5
    assert any("taken as USD" in w for w in batch.warnings)
