"""A last line without its end: a value that may be short is never stored, and the longer copy brings it."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.gpu.parts import samples_sql
from data.ingest import ingest_file
from data.parse.last_line import is_closed
from data.readers import choose
from data.readers.base import Batch, Choices
from data.store import Store

SMI = "timestamp, index, uuid, utilization.gpu [%], power.draw [W]\n"
DMON = "# gpu    pwr     sm     fb\n# Idx      W      %     MB\n"
DCGMI = "#Entity   GPUTL   POWER\nID\n"
AMD = "gpu,gfx_activity,socket_power\n"
ROCM = "device,GPU use (%),Average Graphics Package Power (W)\n"
STEPS = "run,step,step_s,reward_mean\n"
HISTORY = "_step,_runtime,_timestamp,train/loss,perf/time_per_step\n"
SACCT = "JobID|State|Start|End|Elapsed|AllocTRES\n"
VERL = (
    "(TaskRunner pid=7) step:{n} - actor/loss:0.5 - critic/rewards/mean:0.125 - perf/time_per_step:{n}234.5"
)


def verl(n: int) -> str:
    return VERL.format(n=n)


LINES: dict[str, tuple[str, Callable[[int], str]]] = {
    "nvidia_smi_query_csv": (SMI, lambda n: f"2026/01/01 00:00:0{n}.000, 0, GPU-a, 50, 71{n}"),
    "nvidia_smi_dmon": (DMON, lambda n: f"    0    10{n}     50   123{n}"),
    "dcgmi_dmon": (DCGMI, lambda n: f"GPU 0     50      712.{n}5"),
    "amd_smi_csv": (AMD, lambda n: f"{n},50,71{n}"),
    "rocm_smi_csv": (ROCM, lambda n: f"card{n},50,71{n}"),
    "ipd_steps_csv": (STEPS, lambda n: f"r,{n},20.5,0.123{n}"),
    "ipd_gpu_samples_csv": ("ts,gpu_id,gpu_util,power_w\n", lambda n: f"2026-01-01T00:00:0{n}Z,a,0.5,71{n}"),
    "wandb_history_csv": (HISTORY, lambda n: f"{n},{n}0,{1767225600 + n},0.25,1{n}.125"),
    "sandbox_events": ("env,step,queued_s,busy_s\n", lambda n: f"swe,{n},0.5,12{n}"),
    "task_results": ("task_id,passed,tokens\n", lambda n: f"t{n},1,12{n}"),
    "sacct_parsable2": (
        SACCT,
        lambda n: f"7{n}|COMPLETED|2026-01-05T08:00:00|2026-01-05T10:00:00|02:00:00|cpu=64,gres/gpu=1{n}",
    ),
    "prometheus_text": ("", lambda n: f'DCGM_FI_DEV_POWER_USAGE{{gpu="{n}",Hostname="a"}} 71{n}'),
    "verl_console": ("", verl),
    "tinker_console_progress": ("", lambda n: f"[tinker] {n}/9 | loss=0.5 | reward=12{n}"),
    "prime_rl_console": (
        "",
        lambda n: (
            f"12:00:0{n} SUCCESS Step {n} | 9.1s | Loss 0.5 | Entropy: 0.5 | Throughput: 120 tokens/s "
            f"| MFU 12.{n}5"
        ),
    ),
}


def read(text: str, folder: Path, expect: str) -> Batch:
    source = spool_bytes(text.encode(), "run.log", folder)
    choices = Choices(format=expect, timezone="UTC")
    batch = choose(source, choices).read(source, choices, folder)
    batch.reconcile()
    return batch


def numbers(batch: Batch) -> set[float]:
    """Every number that is stored, but not the numbers of steps, lines and attempts."""
    found: set[float] = set()
    for table in batch.tables.values():
        frame = table.drop(columns=[c for c in ("step", "attempt", "line", "x") if c in table])
        found |= {
            float(v) for v in frame.select_dtypes("number").astype("float64").to_numpy().ravel() if v == v
        }
    for part in batch.gpu_parts:
        frame = duckdb.sql(f"select * from {samples_sql([part])}").df().drop(columns="dt_s")
        found |= {float(v) for v in frame.select_dtypes("number").to_numpy().ravel() if v == v}
    return found


@pytest.mark.parametrize("name", LINES)
def test_a_value_that_may_be_short_is_left_out_and_told(name: str, tmp_path: Path) -> None:
    head, line = LINES[name]
    text = head + "".join(f"{line(n)}\n" for n in (1, 2, 3))
    truth = read(text, tmp_path, name)
    before = read(head + "".join(f"{line(n)}\n" for n in (1, 2)), tmp_path, name)
    last = text.count("\n")
    for cut in (1, 2):
        batch = read(text[:-cut], tmp_path, name)
        assert numbers(batch) <= numbers(truth) | numbers(before)
        if name == "nvidia_smi_dmon" and cut == 1:
            continue  # its columns are of fixed width
        assert batch.records == before.records < truth.records
        assert batch.facts["partial_last_line"] == 1
        said = [text for text in batch.warnings if text.startswith(f"Line {last}, the last")]
        assert len(said) == 1, batch.warnings
    assert truth.facts["partial_last_line"] == 0
    assert not [text for text in truth.warnings if "the last" in text]


@pytest.mark.parametrize("name", LINES)
def test_a_file_of_one_line_that_may_be_short_is_refused(name: str, tmp_path: Path) -> None:
    head, line = LINES[name]
    with pytest.raises(UnreadableFileError, match="no other record") as caught:
        read(head + line(1), tmp_path, name)
    assert "line break" in caught.value.remedy
    assert read(f"{head}{line(1)}\n", tmp_path, name).records == 1


def test_an_end_that_proves_itself_counts() -> None:
    for text in ('a,"1"', "{'loss': 1}", "0, 71.06 W", "0, 100 %", "0,5,80 MiB"):
        assert is_closed(text), text
    for text in ("a,1", "a,", "a,12 M", "0.1234", "1e", "step", "", "12k"):
        assert not is_closed(text), text


def test_units_keep_the_last_row(tmp_path: Path) -> None:
    text = (
        SMI + "2026/01/01 00:00:01, 0, GPU-a, 50 %, 712.06 W\n2026/01/01 00:00:02, 0, GPU-a, 50 %, 712.06 W"
    )
    assert read(text, tmp_path, "nvidia_smi_query_csv").records == 2
    cut = read(text[:-2], tmp_path, "nvidia_smi_query_csv")
    assert (cut.records, cut.facts["partial_last_line"]) == (1, 1)


def test_a_last_column_that_is_not_read_does_no_harm(tmp_path: Path) -> None:
    text = SMI.replace("\n", ", pcie.link.gen.max\n") + "2026/01/01 00:00:01, 0, GPU-a, 50, 712, 4"
    batch = read(text, tmp_path, "nvidia_smi_query_csv")
    assert (batch.records, batch.facts["partial_last_line"]) == (1, 0)
    assert not [text for text in batch.warnings if "the last" in text]


def test_exports_that_join_their_lines_keep_the_last(tmp_path: Path) -> None:
    panel = 'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0"",Hostname=""a""}"\n1767225600000,171\n1767225660000,172'
    batch = read(panel, tmp_path, "grafana_single_csv")
    assert (batch.records, batch.facts["partial_last_line"]) == (2, 0)
    chart = "Step,r - train/loss,r - train/loss__MIN,r - train/loss__MAX\n1,0.5,0.5,0.5\n2,0.25,0.25,0.25"
    batch = read(chart, tmp_path, "wandb_chart_export")
    assert (batch.records, batch.facts["partial_last_line"]) == (2, 0)
    assert not [text for text in batch.warnings if "the last" in text]


def test_a_bill_keeps_its_last_line_and_says_what_may_be_short(tmp_path: Path) -> None:
    day = "2026-01-01T00:00:00Z,2026-01-02T00:00:00Z"
    card = f"pool,gpu_model,gpus,start,end,usd_per_gpu_hour\ntrain,H100,8,{day},2.5\nroll,H100,4,{day},1.25"
    batch = read(card, tmp_path, "rate_card_csv")
    assert batch.facts["billed_cost"] == pytest.approx(8 * 24 * 2.5 + 4 * 24 * 1.25)
    said = [text for text in batch.warnings if "the last" in text]
    assert said == [
        "Line 3, the last, has no line end: if the file was cut there, the last value of the row, '1.25', "
        "is too short."
    ]


@pytest.mark.parametrize(
    "name",
    [
        "ipd_steps_csv",
        "verl_console",
        pytest.param("tinker_console_progress", marks=pytest.mark.full),
        pytest.param("wandb_history_csv", marks=pytest.mark.full),
    ],
)
def test_a_log_that_grows_never_holds_the_short_value_and_gets_the_line_later(
    name: str, store: Store, tmp_path: Path
) -> None:
    head, line = LINES[name]
    whole = head + "".join(f"{line(n)}\n" for n in (1, 2, 3, 4))
    third = len(head) + sum(len(line(n)) + 1 for n in (1, 2, 3))
    grown = [whole[: third - 3], whole[:third], whole[: len(whole) - 2], whole]
    choices = Choices(run="spring", timezone="UTC")
    steps: list[list[int]] = []
    for text in grown:
        ingest_file(store, io.BytesIO(text.encode()), "run.log", choices)
        with store.view() as view:
            steps.append([n for (n,) in view.rows("SELECT DISTINCT step FROM steps ORDER BY ALL")])
    assert steps == [[1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4]]
    once = Store.open(tmp_path / "once")
    ingest_file(once, io.BytesIO(whole.encode()), "run.log", choices)
    assert kept(store) == kept(once)
    once.close()


def kept(store: Store) -> str:
    """Steps and raw metrics of the home, and how many attempts it has."""
    with store.view() as view:
        steps = view.rows("SELECT attempt, step, step_s, reward_mean FROM steps ORDER BY ALL")
        raw = view.rows("SELECT attempt, key, step, value FROM metric_raw ORDER BY ALL")
        attempts = view.rows("SELECT count(*) FROM attempts")
    return json.dumps([steps, raw, attempts], default=str)


def test_samples_that_grow_hold_the_whole_value_once(store: Store) -> None:
    head, line = LINES["nvidia_smi_query_csv"]
    whole = head + "".join(f"{line(n)}\n" for n in (1, 2, 3))
    for text in (whole[:-2], whole):
        ingest_file(store, io.BytesIO(text.encode()), "smi.csv", Choices(timezone="UTC", host="a"))
    with store.view() as view:
        found = view.rows(
            "SELECT sum(n)::BIGINT, min(v_min), max(v_max) FROM gpu_minutes WHERE measure = 'power_w'"
        )
    assert found == [(3, 711.0, 713.0)]
