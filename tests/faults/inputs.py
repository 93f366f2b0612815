"""One small valid file of every readable format, or several where its kinds differ."""

import csv
import io
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from data.arrival.bundle import write_bundle
from data.readers.base import Choices
from data.readers.templates import template_csv, templates
from tests.data.readers import test_amd_smi as amd
from tests.data.readers import test_areal_console as areal
from tests.data.readers import test_azure_cost as azure
from tests.data.readers import test_dcgm_csv as dcgm
from tests.data.readers import test_eval_files as scores
from tests.data.readers import test_focus as focus
from tests.data.readers import test_grafana as grafana
from tests.data.readers import test_ipmi_sdr as ipmi
from tests.data.readers import test_mlflow as mlflow
from tests.data.readers import test_nemo_rl_console as nemo
from tests.data.readers import test_nvidia_dmon as dmon
from tests.data.readers import test_nvidia_pmon as pmon
from tests.data.readers import test_openrlhf_console as openrlhf
from tests.data.readers import test_other_bills as bills
from tests.data.readers import test_post_training_toolkit as toolkit
from tests.data.readers import test_prime_rl as prime
from tests.data.readers import test_prometheus_json as prometheus
from tests.data.readers import test_prometheus_text as scrape
from tests.data.readers import test_run_cost_table as run_costs
from tests.data.readers import test_run_manifest as manifest
from tests.data.readers import test_sacct as sacct
from tests.data.readers import test_sandbox_events as sandbox
from tests.data.readers import test_skyrl_console as skyrl
from tests.data.readers import test_slime_console as slime
from tests.data.readers import test_tensorboard as board
from tests.data.readers import test_tinker as tinker
from tests.data.readers import test_trl_console as trl
from tests.data.readers import test_trl_trainer_state as state
from tests.data.readers import test_wandb_events as events
from tests.data.readers import test_wandb_history as history
from tests.data.readers import test_wandb_summary as summary
from tests.data.readers.flat_files import clocked, history_csv, jsonl
from tests.data.readers.test_parquet_metrics import parquet
from tests.data.readers.test_parquet_metrics import skyrl as skyrl_rows
from tests.data.test_nvidia_smi import log as smi_log
from tests.data.test_nvidia_smi import row as smi_row
from tests.data.test_wandb_chart import chart
from tests.data.verl_files import jsonl as verl_jsonl
from tests.data.verl_files import values, whole_run

T0 = 1767225600
TEXT_SHAPES = ("table", "lines", "blocks", "document")
BINARY_SHAPES = ("parquet", "tfevents", "folder")


@dataclass(frozen=True)
class Sample:
    """A valid file. `shape` says what a record is.

    table (a row), lines (a line), blocks (several lines), document (one JSON value), parquet, tfevents or
    folder (a bundle). `heading`: lines above the first record. `loose`: tables computed from several records.
    """

    format: str
    name: str
    data: bytes
    shape: str
    heading: int = 0
    separator: str = ","
    choices: Choices = field(default_factory=Choices)
    loose: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Format and file name."""
        return f"{self.format}:{self.name}"


def _text(format_: str, name: str, text: str, shape: str, **more: object) -> Sample:
    return Sample(format_, name, text.encode(), shape, **more)  # type: ignore[arg-type]


def _gpu_tables() -> list[Sample]:
    stamps = [f"2026-01-01T00:0{n}:00Z" for n in range(8)]
    smi = smi_log(*(smi_row(s, i, f"{7 * s + i} %", f"{1000 * s + i} MiB", f"{70 + s}.0{i} W")
                    for s in range(8) for i in (0, 1)))  # fmt: skip
    ticks = "".join(amd.tick(T0 + n, 10 * n + 1, 10 * n + 2) for n in range(6)).replace("\r", "")
    dated = "".join(dmon.DATED.splitlines(keepends=True)[:2]) + "".join(
        f" 20260102   19:12:{31 + 2 * n}      {gpu}    {5 * n + gpu}    {n}  {1000 + n}\n"
        for n in range(6) for gpu in (0, 1))  # fmt: skip
    dcgm_rows = (dcgm.row(n, f"{7 * n + gpu},0.{n}5,{1000 + n},{400 + n}", gpu)
                 for n in range(6) for gpu in (0, 1))  # fmt: skip
    entity = "#Entity   GPUTL   SMACT        TENSO        FBUSD\nID\n"
    entity += "".join(
        f"GPU {n % 2}     {5 * n}     0.{n}00        0.{n}50        {1000 + n}\n" for n in range(8)
    )
    own = "timestamp,gpu_index,utilization_gpu_percent,gpu_memory_used_MiB,power_W,note\n"
    own += "".join(
        f"{stamps[n]},{g},{5 * n + g},{1000 + n},{100 + n}.5,a\n" for n in range(8) for g in (0, 1)
    )
    cards = "timestamp,device,GPU use (%),VRAM Total Used Memory (B)\n"
    cards += "".join(f"{T0 + n},card{g},{10 * n + g},{512 + n}\n" for n in range(6) for g in (0, 1))
    pids = pmon.OLD + "".join(
        f"    {n % 2}    {11 + n}     C     {n}   5   -   -    python\n" for n in range(6)
    )
    return [
        _text("nvidia_smi_query_csv", "smi.csv", smi, "table", heading=1),
        _text("amd_smi_csv", "amd.csv", ticks, "table", heading=1),
        _text("nvidia_smi_dmon", "dmon.txt", dated, "lines", heading=2, choices=Choices(timezone="UTC")),
        _text("nvidia_smi_pmon", "pmon.txt", pids, "lines", heading=2),
        _text("dcgm_csv", "dcgm.csv", dcgm.table(dcgm.OLD, *dcgm_rows), "table", heading=1),
        _text("dcgmi_dmon", "dcgmi.txt", entity, "lines", heading=2),
        _text("gpu_sampler_csv", "sampler.csv", own, "table", heading=1, choices=Choices(host="n1")),
        _text("rocm_smi_csv", "rocm.csv", cards, "table", heading=1, choices=Choices(host="n1")),
    ]


def _gpu_exports() -> list[Sample]:
    return [
        _text("wandb_system_events", "events.jsonl", "".join(
            events.event(15 * n, system__gpu__0__gpu=5.0 * n, system__gpu__1__gpu=n) for n in range(8)),
            "lines"),
        _text("wide_metric_by_node", "DCGM_FI_PROF_SM_ACTIVE.csv", "Time,10.0.0.1-0,10.0.0.1-1\n" + "".join(
            f"2026-01-01 08:0{n}:00+08:00,0.{n}1,0.{n}2\n" for n in range(8)), "table", heading=1),
        _text("wide_gpu_util_by_machine", "philly.csv", "time,machineId,gpu0_util,gpu1_util\n" + "".join(
            f"2017-10-03 01:0{n}:00 PDT,m1,{10 * n},{10 * n + 5}\n" for n in range(8)), "table", heading=1),
        _text("long_metric_by_container", "pod_gpu_duty_cycle.csv",
              "value,timestamp_anon,container_ip\n" + "".join(
            f"{10 * n}.5,{T0 + 60 * n}.0,a{g}\n" for n in range(8) for g in (0, 1)), "table", heading=1,
            choices=Choices(columns={"value": "gpu_util [%]"})),
        _text("ipmi_sdr_blocks", "ipmi.txt", "".join(
            ipmi.block(f"00:0{n}:11", 300 + n) for n in range(5)), "blocks"),
    ]  # fmt: skip


def _monitoring() -> list[Sample]:
    head = f"{grafana.legend(grafana.UTIL, 0)},{grafana.legend(grafana.UTIL, 1)}"
    rows = [f"{T0 + 15 * n}000,{7 * n},{7 * n + 1}" for n in range(8)]
    one = f'"Time",{grafana.legend(grafana.UTIL, 0)}\n' + "".join(
        f"{T0 + 15 * n}000,{9 * n}\n" for n in range(8)
    )
    series = '"Series","Time","Value"\n' + "".join(
        f"{grafana.legend(grafana.UTIL, g)},{T0 + 15 * n}000,{9 * n + g}\n" for g in (0, 1) for n in range(6)
    )
    points = [(15 * n, str(7 * n)) for n in range(8)]
    matrix = prometheus.answer(*(prometheus.series(prometheus.UTIL, points, gpu=g) for g in (0, 1)))
    lines = "".join(
        json.dumps(
            {
                "metric": {"__name__": prometheus.UTIL, "gpu": str(g), "UUID": f"GPU-{g}"},
                "values": [7 * n + g for n in range(6)],
                "timestamps": [1000 * (T0 + 15 * n) for n in range(6)],
            }
        )
        + "\n"
        for g in range(4)
    )
    text = "".join(scrape.line(metric, 5 * n + g, g, f" {T0 + 15 * n}000")
                   for n in range(6) for metric in (scrape.UTIL, scrape.POWER) for g in (0, 1))  # fmt: skip
    return [
        _text("grafana_joined_csv", "joined.csv", grafana.joined(*rows, head=head), "table", heading=1),
        _text("grafana_single_csv", "single.csv", one, "table", heading=1),
        _text("grafana_series_csv", "series.csv", series, "table", heading=1),
        _text("prometheus_query_range", "range.json", matrix, "document"),
        _text("victoriametrics_jsonl", "export.jsonl", lines, "lines"),
        _text("prometheus_text", "scrape.txt", text, "lines"),
    ]  # fmt: skip


def _training_logs() -> list[Sample]:
    bars = "".join(trl.bar(n, elapsed=f"0{n}:10") + "\n" + trl.record(n) + "\n" for n in range(1, 8))
    peers = "".join(skyrl.both(n, second=30 * n, **{"reward/avg_raw_reward": n / 8}) for n in range(1, 6))
    blocks = "".join(nemo.heading(n, 9) + nemo.block(f"0.{n}500", 20.0 + n) for n in range(1, 6))
    tables = "".join(areal.commit(n, areal.metrics(n), stamp=f"20251108-15:2{n}:11.123") for n in range(1, 6))
    verl_steps = {n: values(n, 20.0 + n) for n in range(1, 9)}
    trainer = "".join(f"12:00:{10 + n} SUCCESS Step {n} |    {9 + n}.1s | Loss 0.00{n} | Entropy 0.3200 | "
                      f"Grad. Norm 0.2000 | LR 1.00e-06 | Throughput 1234{n} tokens/s | MFU 31.{n}% | "
                      "Peak Mem. 62.0 GiB\n" for n in range(8))  # fmt: skip
    chat = "[trial] 12 examples | model=Qwen/Qwen3-8B seed=1\n" + "".join(
        f"[trial]   {n}/8 | loss=-4.{n}162 | reward=0.{n}25 | acc={10 * n}.5%\n" for n in range(1, 9)
    )
    return [
        _text("verl_console", "trial.log", whole_run(1, 6, 6), "blocks"),
        _text("verl_file_logger_jsonl", "trial.jsonl", verl_jsonl(verl_steps), "lines"),
        _text("nemo_rl_console", "nemo.log", blocks, "blocks"),
        _text("openrlhf_console", "openrlhf.log", "".join(openrlhf.step(n) for n in range(1, 8)), "lines"),
        _text("skyrl_console", "skyrl.log", peers, "blocks"),
        _text("slime_console", "slime.log", slime.sync(4), "lines"),
        _text("areal_console", "areal.log", tables, "blocks"),
        _text("prime_rl_console", "prime.log", trainer, "lines"),
        _text("prime_rl_metrics_jsonl", "trainer.jsonl", prime.jsonl(prime.trainer(6)), "lines"),
        _text("prime_rl_metrics_jsonl", "orchestrator.jsonl", prime.jsonl(prime.orchestrator(6)), "lines"),
        _text("tinker_console_progress", "tinker.log", chat, "lines"),
        _text("tinker_metrics_jsonl_rl", "rl.jsonl", tinker.lines(
            *(tinker.rl(n) for n in range(8))), "lines"),
        _text("tinker_metrics_jsonl_sft", "sft.jsonl", tinker.lines(
            *(tinker.sft(n, num_tokens=1000 + n) for n in range(8))), "lines"),
        _text("trl_console", "trl.log", bars, "blocks"),
        _text("trl_trainer_state", "trainer_state.json", state.state(
            [state.entry(n) for n in range(1, 21)]), "document"),
        _text("post_training_toolkit", "metrics.jsonl", toolkit.metrics(steps=7), "lines"),
        _text("flat_metrics_jsonl", "flat.jsonl", jsonl(
            [row | {"reward/avg_raw_reward": n / 8} for n, row in enumerate(skyrl_rows(*range(1, 9)))]),
            "lines"),
    ]  # fmt: skip


def _histories() -> list[Sample]:
    records = clocked(
        [row | {"timing_s/step": 20.0 + n} for n, row in enumerate(history.verl(*range(1, 9)))], 25
    )
    rows: list[list[object]] = [[5 * n, n / 16, 10 + n] for n in range(8)]
    return [
        _text("wandb_chart_export", "chart.csv", chart("Step", rows, "a - critic/rewards/mean", "b - tok/s"),
              "table", heading=1),
        _text("wandb_history_csv", "run.csv", history_csv(records), "table", heading=1),
        _text("wandb_history_json", "run.jsonl", jsonl(records), "lines"),
        _text("wandb_history_json", "list.json", json.dumps(records), "document"),
        _text("wandb_summary_json", "wandb-summary.json", json.dumps(summary.TRL), "document"),
        _text("run_manifest_json", "manifest.json", json.dumps(manifest.MANIFEST, indent=2), "document"),
        Sample("wandb_history_parquet", "run.parquet", parquet(clocked(skyrl_rows(*range(1, 9)))), "parquet"),
        _text("flat_metrics_csv", "flat.csv", history_csv(
            [row | {"timing/step": 9.5 + n} for n, row in enumerate(skyrl_rows(*range(1, 9)))]),
            "table", heading=1),
        Sample("flat_metrics_parquet", "flat.parquet", parquet(skyrl_rows(*range(1, 9))), "parquet"),
        Sample("tensorboard_events", "events.out.tfevents.1700000000.node7.12.0", board.verl_run(1, 6),
               "tfevents"),
    ]  # fmt: skip


def _evaluations() -> list[Sample]:
    sample = {"doc": {}, "target": "1", "resps": [["1"]], "filtered_resps": ["1"], "metrics": ["exact_match"]}
    harness = scores.lines(
        *(sample | {"doc_id": n, "filter": "strict", "exact_match": float(n % 2)} for n in range(8))
    )
    usage = {"accumulated_token_usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    hands = {"metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "lab/tiny"},
             "max_iterations": 50, "dataset": "SWE-bench_Verified", "data_split": "test"}}  # fmt: skip
    solved = scores.lines(
        *(
            hands
            | {
                "instance_id": f"a__b-{n}",
                "metrics": {"accumulated_cost": n / 4} | usage,
                "test_result": {"git_patch": "", "report": {"resolved": n % 3 == 0}},
            }
            for n in range(8)
        )
    )
    listed = [{"benchmark": f"b{n}", "score": 45.1 + n, "metric": "resolve_rate", "total_cost": 3.5}
              for n in range(4)]  # fmt: skip
    tasks = "task_id,model,trial,passed,effort,cost\n" + "".join(
        f"t{n},m,0,{n % 2},low,0.{n}\n" for n in range(8)
    )
    objects = scores.lines(
        *({"instance_id": f"a__b-{n}", "resolved": n % 2 == 0, "tokens": n} for n in range(8))
    )
    return [
        _text("lm_eval_results_json", "results_2026.json", json.dumps(scores.RESULTS), "document"),
        _text("lm_eval_samples_jsonl", "samples_arith_2026-01-05T08-00-00.5.jsonl", harness + "\n", "lines",
              loose=("evals",)),
        _text("openhands_output_jsonl", "output.jsonl", solved + "\n", "lines", loose=("evals",)),
        _text("openhands_scores_json", "scores.json", json.dumps(listed), "document"),
        _text("swe_bench_report_json", "lab__tiny.night.json", json.dumps(scores.REPORT), "document"),
        _text("task_results", "math_2026-01-05.csv", tasks, "table", heading=1, loose=("evals",)),
        _text("task_results", "swe.jsonl", objects + "\n", "lines", loose=("evals",)),
    ]  # fmt: skip


def _bills() -> list[Sample]:
    days = [f"2026-01-0{n}" for n in range(1, 8)]
    focus_rows = "".join(
        f"{n}.25,{n}.5,12,7.5,USD,Usage,{day}T08:00:00Z,{day}T09:00:00Z,Acme,Compute,hours,{n},Hours,c-1,Used,,a\n"
        for n, day in enumerate(days)
    )
    azure_rows = "".join(
        f"s,{day},Virtual Machines,m{n},1,9{n},100,120,EUR,Usage,\n" for n, day in enumerate(days)
    )
    opencost = bills.OPENCOST.splitlines(keepends=True)[0] + "".join(
        f"{day},rl,job,train,train-{n},main,1,8,{n},0.5,0.25,2,4{n},{n + 40 + n + 2.75},a\n"
        for n, day in enumerate(days)
    )
    costs = run_costs.TABLE + "".join(f"grpo,{n},grpo-{n},180{n},0.5,{n}.5,11209\n" for n in range(3, 9))
    card = "pool,gpu_model,gpus,start,end,usd_per_gpu_hour\n" + "".join(
        f"p{n},H100,{n + 1},{day}T00:00:00Z,{day}T12:00:00Z,2.{n}\n" for n, day in enumerate(days)
    )
    return [
        _text("focus_csv", "bill.csv", focus.HEADER + "\n" + focus_rows, "table", heading=1),
        _text("azure_cost_export", "azure.csv", azure.NEW + "\n" + azure_rows, "table", heading=1),
        _text("opencost_csv", "cost.csv", opencost, "table", heading=1),
        _text("rate_card_csv", "card.csv", card, "table", heading=1),
        _text("run_cost_table", "runs.csv", costs, "table", heading=1),
    ]


def _clusters() -> list[Sample]:
    jobs = (
        sacct.HEADER
        + "\n"
        + "".join(sacct.JOB.replace("71|rl", f"7{n}|rl").replace("=16", f"=1{n}") + "\n" for n in range(6))
    )
    calls = sandbox.CSV.splitlines(keepends=True)[0] + "".join(
        f"py,{n},2026-01-05T08:00:0{n}Z,{250 + n},150{n},400{n},2,512,ok,n1\n" for n in range(8)
    )
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{n},64000,1,{n + 1},H100\n" for n in range(6))
    totals = "id,job_num,complete_gpu_time,cancel_gpu_time,fail_gpu_time\n" + "".join(
        f"c{n},{n + 1},{3600 * n},{60 * n},1\n" for n in range(4)
    )
    pods = "name,num_gpu,gpu_milli,pod_phase,creation_time,deletion_time,scheduled_time\n" + "".join(
        f"p{n},{n + 1},1000,Running,{n},{7200 + n},{n}\n" for n in range(8)
    )
    return [
        _text("sacct_parsable2", "jobs.txt", jobs, "table", heading=1, separator="|",
              choices=Choices(timezone="UTC")),
        _text("sandbox_events", "calls.csv", calls, "table", heading=1),
        _text("gpu_node_inventory", "nodes.csv", nodes, "table", heading=1),
        _text("cluster_summary", "clusters.csv", totals, "table", heading=1),
        _text("pod_request_table", "pods.csv", pods, "table", heading=1),
    ]  # fmt: skip


_COUNTED = {
    "runs": "run", "allocations": "run", "steps": "step", "step_phases": "step", "length_hist": "step",
    "checkpoints": "checkpoint", "evals": "eval_id", "eval_tasks": "task", "gpu_samples": "ts",
    "env_events": "started_at", "costs": "note",
}  # fmt: skip
"""A column of each template that tells rows apart."""


def _longer(name: str, rows: int = 7) -> str:
    """The example of a template with more rows, one of its columns counting up."""
    header, first = list(csv.reader(io.StringIO(template_csv(name))))[:2]
    place = header.index(_COUNTED[name])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for number in range(1, rows + 1):
        cell = first[place]
        stamp = f"2026-01-05T08:00:{number:02d}Z"
        first[place] = stamp if cell.startswith("20") else str(number) if cell.isdigit() else f"r{number}"
        writer.writerow(first)
    return out.getvalue()


def _templates() -> list[Sample]:
    return [
        _text(template.format, f"my_{name}.csv", _longer(name), "table", heading=1,
              loose=("evals",) if name == "eval_tasks" else ())
        for name, template in templates().items()
    ]  # fmt: skip


def _mapped() -> Sample:
    rows = "".join(f"{n},{20 + n}.5,{1000 + n},{n}.25\n" for n in range(8))
    plan = {"n": "steps.step", "took": "steps.step_s|unit=s", "made": "steps.tok_gen"}
    return _text("mapped_table", "mine.csv", "n,took,made,other\n" + rows, "table", heading=1,
                 choices=Choices(format="mapped_table", columns=plan))  # fmt: skip


def bundle(files: dict[str, bytes]) -> bytes:
    """The bytes of a run folder as it is kept."""
    with tempfile.TemporaryDirectory() as place:
        paths = {}
        for number, (name, data) in enumerate(files.items()):
            paths[name] = Path(place) / str(number)
            paths[name].write_bytes(data)
        write_bundle(paths, Path(place) / "out.tar")
        return (Path(place) / "out.tar").read_bytes()


def _folders() -> list[Sample]:
    runs = {
        "mlflow_run": {name: text.encode() for name, text in mlflow.run_files().items()},
        "tensorboard_folder": {
            "events.out.tfevents.1700000000.n.1.0": board.verl_run(1, 3),
            "events.out.tfevents.1700001000.n.2.0": board.verl_run(4, 6, start=board.T0 + 1000),
        },
        "tinker_folder": {
            "metrics.jsonl": tinker.lines(*(tinker.rl(n) for n in range(5))).encode(),
            "config.json": json.dumps({"model_name": "Qwen/Qwen3-8B", "wandb_name": "t"}).encode(),
        },
        "post_training_toolkit": {
            "metrics.jsonl": toolkit.metrics().encode(),
            "run_metadata.json": json.dumps(toolkit.METADATA).encode(),
        },
    }
    return [Sample(format_, "run1/", bundle(files), "folder") for format_, files in runs.items()]


def samples() -> list[Sample]:
    """All of them, in a fixed order."""
    return [
        *_gpu_tables(), *_gpu_exports(), *_monitoring(), *_training_logs(), *_histories(), *_evaluations(),
        *_bills(), *_clusters(), *_templates(), _mapped(), *_folders(),
    ]  # fmt: skip
