"""Which reader gets a file, and what the refusal says when none does."""

import io
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError, UserError
from data.logs.keymap import find_rule, load_keymap, parse_eval_key, rules_for
from data.logs.llm_guess import guess_llm
from data.parse import csvio
from data.readers import REGISTRY, AmbiguousFormatError, choose, registry, sniff_all
from data.readers.base import Batch, Choices, Progress, Reader, Sniff, Source, no_progress
from data.readers.foreign import describe, recognise
from data.readers.template_specs import templates
from data.readers.templates import template_csv
from tests.data.verl_files import config_lines, jsonl, line, spooled, values

CHART = '"Step","r - a","r - a__MIN","r - a__MAX"\n"1","2","2","2"\n'
SMI = "timestamp, index, name, utilization.gpu [%], memory.used [MiB]\n"
SMI += "2026/01/03 15:36:53.507, 0, NVIDIA H100, 1 %, 1129 MiB\n"
FOCUS = '"BilledCost","EffectiveCost","ChargePeriodEnd","ChargePeriodStart","ChargeCategory"\n'
FOCUS += '"1","1","2026-01-05T09:00:00Z","2026-01-05T08:00:00Z","Usage"\n'
SACCT = "JobID|JobName|State|Elapsed|AllocTRES\n12|rl|COMPLETED|01:00:00|gres/gpu=8\n"
OURS = {
    "nemo_rl_console": "📊 Training Results:\n  • Total step time: 35.70s\n  • policy_training: 10.97s\n",
    "trl_trainer_state": '{\n  "log_history": [\n    {"loss": 0.1, "reward": 0.2, "step": 1}\n  ]\n}\n',
    "trl_console": "{'loss': 0.07, 'grad_norm': 4.5, 'learning_rate': 9e-06, 'reward': 1.75}\n",
    "wandb_chart_export": CHART,
    "focus_csv": FOCUS,
    "sacct_parsable2": SACCT,
    "verl_console": "starting\n" + line(1, values(1)) + "\n",
    "verl_file_logger_jsonl": jsonl({1: values(1)}),
    "nvidia_smi_query_csv": SMI,
    "nvidia_smi_dmon": "# gpu   pwr    sm   mem\n# Idx     W     %     %\n    0   111    25     7\n",
    "nvidia_smi_pmon": "# gpu  pid  type  sm  command\n# Idx  #  C/G  %  name\n  0  77  C  88  a\n",
    "dcgmi_dmon": "#Entity   GRACT        TENSO\nID\nGPU 0     0.170        0.121\n",
    "dcgm_csv": "timestamp,gpu,UUID,DCGM_FI_DEV_GPU_UTIL\n2026-01-01T00:00:00Z,0,GPU-a,97\n",
    "amd_smi_csv": "timestamp,gpu,gfx_activity,mm_activity,socket_power,edge\n1772939616,0,9,N/A,350,40\n",
    "rocm_smi_csv": "device,GPU use (%),VRAM Total Used Memory (B)\ncard0,42,536870912\n",
    "gpu_sampler_csv": "timestamp,gpu_utilization_pct,power_draw_w\n2026-01-01T00:00:00Z,9,88\n",
    "wandb_system_events": '{"system.gpu.0.gpu": 4.0, "system.cpu": 5.0, "_timestamp": 1582070941}\n',
    "ipmi_sdr_blocks": "Timestamp: 2026-01-01 00:00:11 UTC\nA | 35 Watts | ok\nB | 1 | ns\nC | 1 | a\n",
    "prometheus_text": '# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization\nDCGM_FI_DEV_GPU_UTIL{gpu="0"} 97\n',
}
FOREIGN = {
    "verl_sft_console": "step:1 - train/loss:1.25 - train/lr(1e-3):0.01\nstep:2 - train/loss:1.2\n",
    "http_metrics_jsonl": '{"ts": 1.7e9, "path": "/v1/chat", "status": 200, "latency_ms": 812.5}\n',
    "http_access_log": '10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /v1/models HTTP/1.1" 200 2326\n',
    "aws_cur_csv": "identity/LineItemId,lineItem/UsageStartDate,lineItem/UnblendedCost\na,2026-01-01,1\n",
    "nvidia_smi_compute_apps": "timestamp, gpu_bus_id, pid, process_name, used_gpu_memory [MiB]\n"
    "2026/01/01 00:00:00.000, 0:01:00.0, 77, python, 900 MiB\n",
    "dcgm_exporter_counters": "DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n"
    "DCGM_FI_DEV_GPU_UTIL,  gauge, GPU utilization (in %).\n",
    "skypilot_price_list": "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Price,"
    "SpotPrice,Region\nx8,8,64,H200,8,,24.0,,north\n",
    "gpuhunt_price_list": "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
    "x8,north,24.0,8,64,8,H200,141,False\n",
    "nvidia_smi_xml": '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
    "<nvidia_smi_log>\n\t<timestamp>Thu Jan  1 00:00:00 2026</timestamp>\n</nvidia_smi_log>\n",
    "prometheus_error": '{"status":"error","errorType":"bad_data","error":"exceeded maximum '
    'resolution of 11,000 points per timeseries"}\n',
    "html_page": "<!DOCTYPE html>\n<html><title>Sign in</title></html>\n",
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_each_format_goes_to_its_reader(name: str, tmp_path: Path) -> None:
    source = spooled(OURS[name], tmp_path, "upload.txt")
    assert choose(source, Choices()).format == name
    best, rest = sniff_all(source)[0], sniff_all(source)[1:]
    assert best[1].confidence >= 0.7
    assert all(sniff.confidence < 0.3 for _, sniff in rest)


@pytest.mark.parametrize("name", FOREIGN)
def test_known_formats_without_a_reader_are_named(name: str, tmp_path: Path) -> None:
    source = spooled(FOREIGN[name], tmp_path, "upload.txt")
    with pytest.raises(UnreadableFileError) as caught:
        choose(source, Choices())
    assert name in caught.value.what
    assert caught.value.where == "upload.txt"
    assert caught.value.remedy


def test_price_lists_point_to_their_own_command_and_page(tmp_path: Path) -> None:
    lists = {name: text for name, text in FOREIGN.items() if name.endswith("_price_list")}
    lists["slurm"] = "AcceleratorName,PricePerAccelerator\nH100,2.5\n"
    assert {name for name, text in FOREIGN.items() if recognise(text).holds_prices} == set(lists) - {"slurm"}
    for name, text in lists.items():
        with pytest.raises(UnreadableFileError) as caught:
            choose(spooled(text, tmp_path / name, "vms.csv"), Choices())
        assert "price list" in caught.value.what
        assert "cli.py prices import FILE --source" in caught.value.remedy
        assert "Price book" in caught.value.remedy


@pytest.mark.parametrize("cut", [-4, -60, 100, 4])
def test_a_damaged_parquet_file_is_called_so(cut: int, tmp_path: Path) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"step": list(range(99)), "reward": [0.5] * 99}), out)
    with pytest.raises(UnreadableFileError, match="damaged or cut") as caught:
        choose(spool_bytes(out.getvalue()[:cut], "run.parquet", tmp_path), Choices())
    assert "again" in caught.value.remedy


@pytest.mark.parametrize("name", [*FOREIGN])
def test_no_reader_claims_a_foreign_file(name: str, tmp_path: Path) -> None:
    source = spooled(FOREIGN[name], tmp_path, "metrics.jsonl")
    assert all(sniff.confidence < 0.5 for _, sniff in sniff_all(source))


@pytest.mark.parametrize("name", sorted(templates()))
def test_a_template_goes_to_its_reader(name: str, tmp_path: Path) -> None:
    source = spooled(template_csv(name), tmp_path, "upload.csv")
    assert choose(source, Choices()).format == templates()[name].format


@pytest.mark.parametrize("name", OURS)
def test_our_formats_are_not_foreign(name: str) -> None:
    assert recognise(OURS[name]) is None


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"alpha": 1, "beta": 2}\n', "JSON with the keys alpha, beta"),
        (
            "a,b,c,d,e,f,g\n1,2,3,4,5,6,7\n",
            "a table (comma-separated) with the columns a, b, c, d, e, f and 1 more",
        ),
        ("a\tb\tc\n1\t2\t3\n", "a table (tab-separated)"),
        ("[1, 2]\n", "a JSON list"),
        ("17\n", "a single JSON value"),
        ("Dear all\n", "text that begins with 'Dear all'"),
    ],
)
def test_an_unknown_file_is_described(text: str, seen: str, tmp_path: Path) -> None:
    assert describe(text).startswith(seen)
    with pytest.raises(UnreadableFileError, match="no reader knows") as caught:
        choose(spooled(text, tmp_path), Choices())
    assert "docs/formats.md" in caught.value.remedy and "--map" in caught.value.remedy
    assert len(caught.value.remedy) < 450


def test_a_log_of_requests_is_said_to_be_of_no_use(tmp_path: Path) -> None:
    text = '{"method": "GET", "status_code": 200, "latency_ms": 3}\n' * 3
    with pytest.raises(UnreadableFileError, match="holds nothing this app can use"):
        choose(spooled(text, tmp_path), Choices())


def test_a_name_that_two_columns_of_an_unknown_table_share_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="'loss' appears more than once") as caught:
        choose(spooled("iter,loss,loss,dur\n1,10,20,5\n", tmp_path), Choices())
    assert "Rename the columns" in caught.value.remedy and "--map" in caught.value.remedy


@pytest.mark.parametrize("seed", range(8))
def test_noise_is_refused_from_the_head_alone(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    alphabet = [
        "abcdefghij ,;:|-{}[]\"'/0123456789\n",
        "\n\r\t,01",
        'stepStep: -,"\n',
        "".join(map(chr, range(32, 700))),
    ][seed % 4]
    head = "".join(rng.choices(alphabet, k=60_000))
    source = spooled(head, tmp_path)
    unreachable = replace(source, path=tmp_path / "gone", original=tmp_path / "gone", size_bytes=300_000_000)
    with pytest.raises(UserError) as caught:
        choose(unreachable, Choices())
    assert not isinstance(caught.value, AmbiguousFormatError)


class _Fake:
    def __init__(self, name: str, confidence: float) -> None:
        self.format, self.title, self._confidence = name, name.upper(), confidence

    def sniff(self, source: Source) -> Sniff:
        return Sniff(self._confidence, f"because of {self.format}")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        return Batch(self.format)


def _among(monkeypatch: pytest.MonkeyPatch, *confidences: float) -> Reader | AmbiguousFormatError:
    readers = tuple(_Fake(f"f{i}", confidence) for i, confidence in enumerate(confidences))
    monkeypatch.setattr(registry, "REGISTRY", readers)
    with tempfile.TemporaryDirectory() as folder:
        source = spooled("\x1b[31mfirst\x1b[0m\nsecond\n", Path(folder), "what.txt")
        try:
            return choose(source, Choices())
        except AmbiguousFormatError as error:
            return error


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ((0.9, 0.3), "f0"), ((0.3, 0.9), "f1"), ((0.51, 0.0), "f0"), ((0.9, 0.8), ["f0", "f1"]),
        ((0.8, 0.9, 0.1), ["f1", "f0"]), ((0.4, 0.0), ["f0"]), ((0.49, 0.25, 0.19), ["f0", "f1"]),
    ],
)  # fmt: skip
def test_doubt_is_asked_about(
    confidences: tuple[float, ...], expected: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _among(monkeypatch, *confidences)
    if isinstance(expected, str):
        assert not isinstance(found, AmbiguousFormatError)
        assert found.format == expected
        return
    assert isinstance(found, AmbiguousFormatError)
    assert [c.format for c in found.candidates] == expected
    assert all(c.why and c.title for c in found.candidates)
    assert found.preview == ["first", "second"]


def test_a_named_format_is_obeyed_and_an_unknown_one_refused(tmp_path: Path) -> None:
    source = spooled("anything\n", tmp_path)
    assert choose(source, Choices(format="verl_console")).format == "verl_console"
    with pytest.raises(UserError, match="no format 'excel'") as caught:
        choose(source, Choices(format="excel"))
    assert "verl_console" in caught.value.remedy


def test_a_log_that_has_not_stepped_yet_is_still_recognised(tmp_path: Path) -> None:
    assert choose(spooled("\n".join(config_lines()) + "\n", tmp_path), Choices()).format == "verl_console"


def test_formats_and_titles_are_unique() -> None:
    assert len({r.format for r in REGISTRY}) == len({r.title for r in REGISTRY}) == len(REGISTRY)


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("val-core/openai/gsm8k/acc/mean@1", ("openai/gsm8k", "acc", 1)),
        ("val-core/aime/acc/mean_at_32", ("aime", "acc", 32)),
        ("val-core/aime/acc/best@4/mean", ("aime", "acc_best", 4)),
        ("val-core/aime/acc/maj@4/mean", ("aime", "acc_maj", 4)),
        ("val/test_score/openai/gsm8k", ("openai/gsm8k", "test_score", None)),
        ("val-core/aime/acc/best@4/std", None), ("val-aux/aime/acc/mean@1", None), ("timing_s/step", None),
    ],
)  # fmt: skip
def test_evaluation_keys(key: str, parts: tuple[str, str, int | None] | None) -> None:
    found = parse_eval_key(key)
    assert (found and (found.benchmark, found.metric, found.k)) == parts


def test_the_key_map_is_sound() -> None:
    rules = load_keymap()
    assert len({(r.framework, r.mode, r.raw_key) for r in rules}) == len(rules)
    for rule in rules:
        assert bool(rule.phase) == bool(rule.kind)
        assert rule.kind in ("", "wall", "wait", "exposed", "busy", "outside", "outside_exposed")
        assert not (rule.nested and rule.field)
    assert rules_for("verl", "async")["timing_s/gen"].kind == "wait"
    assert rules_for("verl", "sync")["timing_s/gen"].kind == "wall"
    nested = find_rule("verl", "timing_s/agent_loop/tool_calls/max")
    assert nested is not None
    assert nested.nested


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"), ("/models/Qwen3_8B/", "qwen3-8b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"), ("Qwen/Qwen2.5-Math-7B", None),
        ("my-run", None),
    ],
)  # fmt: skip
def test_models_are_guessed_by_their_whole_name(path: str, expected: str | None) -> None:
    assert guess_llm(path, ("qwen2.5-7b", "qwen3-8b", "qwen3-30b-a3b")) == expected


QUIRKS = (
    "sep=;\na;b\n1;2\n",
    "\n\n  \n" + SMI,
    'a,"b\nc",d\n1,2,3\n',
    'x "y\n' * 300 + SMI,
    "a\rb\r\nc,d\n" + SMI,
)


@pytest.mark.parametrize("text", QUIRKS)
def test_readers_share_the_head_of_a_file_and_see_what_stands_in_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = spool_bytes(text.encode(), "f.csv", tmp_path)
    path = tmp_path / "head"
    path.write_text(whole.head, newline="")
    read: list[object] = []
    first = csvio._first_records
    monkeypatch.setattr(csvio, "_first_records", lambda lines: (read.append(lines), first(lines))[1])
    csvio._of_head.cache_clear()
    sniff_all(whole)
    assert len(read) == 1
    alone = replace(whole, path=path, original=path)
    for fits in (None, lambda names: "index" in names, lambda names: len(names) == 2):
        assert told(alone, fits) == told(replace(alone, head_path=path), fits)


def told(source: Source, fits: Callable[[tuple[str, ...]], bool] | None) -> object:
    """The header that is found, or the refusal."""
    try:
        return csvio.read_layout(source, fits, unique=False)
    except UnreadableFileError as error:
        return str(error)
