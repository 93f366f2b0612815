"""Pools, sandboxes and weight sync on the page Capacity: inputs, charts and tables of each, in one shape."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis import QUESTIONS
from analysis.frames import records
from analysis.result import Result
from charts import pools, sandbox_plan, sync_engines
from charts.theme import Mode
from charts.tornado import tornado
from data.model_names import model_labels
from data.queries.known import runs_by_arrival
from pages.parts.choose import dropdown, planned_run, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.pictures import picture
from pages.parts.plan_fields import WIDE, Field, count, fields, percent, settings_of
from pages.parts.state import PageState
from pages.parts.tables import show_table
from pages.parts.words import status_label

BASES = {"run": "A measured run", "scratch": "From scratch"}
USUAL = "the usual one"
OWN = "the run's, or a usual one"
COMMON = (
    Field("usd_per_gpu_h", "Price of a GPU-hour (USD)", 0.01, 1000, 0.1),
    percent("range_frac", "Range of inputs without a published one, ±", 0, 90),
)
OPEN = 2
"""Tables of a plan that stand open."""
SIDE = ("judge_gpus", "side_frac")
"""Columns that are left out where no pool does anything else."""
LABELS = {
    "status": "Badge",
    "row_id": "Row of the source",
    "gb_per_s": "GB/s",
    "gb_per_s_per_gpu": "GB/s a GPU",
    "saved_usd_per_day": "Saves a day (USD)",
    "saved_usd_low": "Saves, low (USD)",
    "saved_usd_high": "Saves, high (USD)",
    "speedup": "Against x86 (x)",
}
Choice = tuple[str, str, Mapping[str, str], str]
"""Parameter, label, option -> words, default."""


@dataclass(frozen=True)
class Plan:
    """How one question is asked and shown; boxes: title -> fields, the first of which stands open."""

    question: str
    prefix: str
    boxes: Mapping[str, tuple[Field, ...]]
    charts: tuple[tuple[str, Callable[..., go.Figure]], ...]
    tables: tuple[tuple[str, str], ...]
    choices: tuple[Choice, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    llm: bool = False


POOLS = Plan(
    "pools",
    "po",
    {
        "": (
            count("gpus_total", "GPUs in all", 2, 100_000, 8),
            count("max_staleness", "Oldest policy allowed (updates)", 0, 64),
        ),
        "A step": (
            Field("rollout_gpu_s", "Rollouts (GPU-seconds a step)", 0.001, 1e10, 1000),
            Field("tail_s", "Serial tail of the longest rollouts (s)", 0, 1e6, 10),
            Field("tools_s", "Tools (s)", 0, 1e6, 10),
            Field("train_gpu_s", "Training and log-probs (GPU-seconds a step)", 0.001, 1e10, 1000),
            Field("train_fixed_s", "Training that more GPUs do not shrink (s)", 0, 1e6, 10),
            Field("judge_gpu_s", "Judge (GPU-seconds a step)", 0, 1e10, 100),
            Field("judge_s", "A verdict takes (s)", 0, 1e6),
            Field("sync_s", "Weight sync (s)", 0, 1e6),
            Field("other_s", "Other (s)", 0, 1e6),
            count("rollouts_per_step", "Rollouts a step", 1, 10_000_000, 128),
        ),
        "Units, spread, score": (
            count("unit_rollout", "GPUs added at a time: rollouts", 1, 4096),
            count("unit_train", "GPUs added at a time: training", 1, 4096),
            count("unit_judge", "GPUs added at a time: judge", 1, 4096),
            percent("cv_rollout_frac", "Rollout time varies by", 0, 200),
            percent("cv_train_frac", "Training time varies by", 0, 200),
            percent("dropped_frac", "Rollouts thrown away as too old", 0, 90),
            percent("extra_steps_frac", "More steps for the same score, an update of age", 0, 500),
            Field("mode_factor", "Overlapped step against the sum of its parts (x)", 0.2, 2, 0.05),
            count("steps", "Synchronous steps that the budget pays for", 1, 1_000_000, 50),
            *COMMON,
        ),
    },
    (("Split", pools.splits), ("Modes at equal dollars", pools.modes), ("What moves it", tornado)),
    (
        ("modes", "Modes at equal dollars"),
        ("nearby", "Moving a few GPUs"),
        ("published", "Splits that others published"),
        ("buffer", "The buffer, step by step"),
    ),
    (("mode", "Mode", {"async": "Asynchronous", "one_step_off": "One step off"}, "async"),),
    labels={
        "rollout_gpus": "Rollout GPUs",
        "train_gpus": "Training GPUs",
        "judge_gpus": "Judge GPUs",
        "delta_gpus": "Rollout GPUs more",
        "steps_for_budget": "Steps for the budget",
        "age_updates": "Age (updates)",
        "allowed": "Allowed",
        "steps_needed_ratio": "Steps needed (x)",
        "usd_for_same_score_ratio": "USD for the same score (x)",
        "breakeven_extra_steps_frac": "Pays up to so many more steps (%)",
        "recipe_id": "Recipe",
        "stage": "Stage",
        "side_frac": "Others (%)",
        "ratio_rollout_train": "Rollout : training",
        "inside": "Yours is inside the band",
        "t_s": "After (s)",
        "rollouts": "Rollouts waiting",
        "starved_s": "Trainers starved (s)",
        "blocked_s": "Rollouts blocked (s)",
    },
)
SANDBOXES = Plan(
    "sandboxes",
    "sb",
    {
        "": (
            count("gpus", "GPUs that generate", 1, 100_000, 8),
            count("rollouts_per_step", "Rollouts a step", 1, 10_000_000, 128),
            Field("longest_wait_s", "Longest wait, p95 (s)", 0.001, 3600, 0.5),
        ),
        "Calls and their time": (
            Field("rollout_phase_s", "Rollout phase (s)", 0.001, 1e6, 60),
            count("in_flight", "Rollouts at a time", 1, 20_000, 64),
            Field("calls_per_rollout", "Calls of a rollout", 0.001, 1e5, 5),
            Field("busy_s", "Busy for (s a call)", 0.0001, 1e5, 0.1),
            percent("busy_cv", "Busy time varies by", 0, 2000),
            Field("cold_s", "Cold start (s)", 0, 1e5),
            Field("cold_p95_s", "Cold start, p95 (s)", 0, 1e5),
            Field("queued_s", "Waited when measured (s a call)", 0, 1e6),
        ),
        "A sandbox, its CPU, prices": (
            Field("cores_per_sandbox", "Cores of a sandbox", 0.01, 1024, 0.5),
            Field("mem_gib", "Memory of a sandbox (GiB)", 0.01, 4096),
            Field("cores_per_gpu", "Cores a GPU to look at", 0.001, 1024),
            count("gpus_per_node", "GPUs of a node", 1, 72),
            percent("latency_frac", "Part of a decode step that a smaller batch does not shorten"),
            percent("cpu_frac", "Busy time that is work of the CPU"),
            Field("grace_speedup", "Grace against x86 (x)", 0.1, 10, 0.1),
            Field("vera_speedup", "Vera against x86 (x)", 0.1, 10, 0.1),
            Field("usd_per_core_h", "A core-hour (USD)", 0, 100, 0.01),
            Field("usd_per_gib_h", "A GiB-hour of memory (USD)", 0, 100, 0.001),
            *COMMON,
        ),
    },
    (("Cores", sandbox_plan.by_cores), ("CPUs", sandbox_plan.cpus), ("What moves it", tornado)),
    (
        ("cpus", "CPUs side by side"),
        ("rollout_cost", "A rollout, CPU against GPU"),
        ("by_cores", "By cores for each GPU"),
        ("checked", "Waiting: formula against simulation"),
    ),
    (
        ("hold", "A container is held for", {"rollout": "The whole rollout", "call": "Each call"}, "rollout"),
        ("cores_from", "Cores are", {"rented": "Rented", "host": "The GPU host's own"}, "rented"),
    ),
    labels={
        "name": "CPU",
        "what": "Waiting",
        "erlang_s": "Erlang C (s)",
        "simulated_s": "Simulated (s)",
        "simulated_low_s": "Simulated, low (s)",
        "simulated_high_s": "Simulated, high (s)",
        "off_frac": "Off by (%)",
        "cores_per_gpu": "Cores a GPU",
        "sandboxes": "Sandboxes",
        "wait_mean_s": "Wait, mean (s)",
        "wait_p95_s": "Wait, p95 (s)",
        "scenario": "Scenario",
        "host_holds": "The host has them",
    },
)
SYNC = Plan(
    "weight_sync",
    "ws",
    {
        "": (
            count("trainer_gpus", "Training GPUs", 1, 1_000_000, 8),
            count("engine_gpus", "GPUs that get the weights", 1, 1_000_000, 8),
            count("copies", "Replicas that get a copy", 1, 4096),
        ),
        "Now, and a step": (
            Field("sync_s", "Weight sync as measured (s)", 0.0001, 1e6),
            Field("gb_per_s", "Or its speed (GB/s of a copy)", 0.0001, 1e6),
            Field("hidden_s", "Of it beside other work (s)", 0, 1e6),
            Field("step_s", "A step, sync included (s)", 0.001, 1e6, 10),
            percent("active_frac", "Share of the day that steps"),
            *COMMON,
        ),
    },
    (
        ("Engines", sync_engines.engines),
        ("By speed", sync_engines.speeds),
        ("What moves it", tornado),
    ),
    (("engines", "Engines"),),
    (("sent", "Sent in", {"bf16": "BF16", "fp8": "FP8", "fp4": "FP4"}, "bf16"),),
    labels={"method": "Engine", "beyond_link": "Beyond the link", "step_speedup": "Step faster by (x)"},
    llm=True,
)
PLANS = {"Pools": POOLS, "Sandboxes": SANDBOXES, "Weight sync": SYNC}


def asked_of(plan: Plan, state: PageState) -> dict[str, Any]:
    """Draw the inputs of a plan; returns the parameters that a person gave."""
    asked = _source(plan, state)
    published = compute_or_stop(plan.question, asked)
    every = [one for box in plan.boxes.values() for one in box]
    known = settings_of(published, QUESTIONS[plan.question].params, every)
    for title, wanted in plan.boxes.items():
        if not title:
            asked |= fields(plan.prefix, wanted, known)
            asked |= _choices(plan) | (_engine(published) if plan.llm else {})
            continue
        with st.expander(title, key=f"{plan.prefix}_box_{title[:6]}"):
            asked |= fields(plan.prefix, wanted, known)
    return asked


def _source(plan: Plan, state: PageState) -> dict[str, Any]:
    """A run or nothing, the platform, and the model where it matters: what the defaults depend on."""
    with state.view() as view:
        runs = list(state.common.runs or runs_by_arrival(view))
        names = {p.platform_id: p.name for p in view.catalogue.platforms() if p.kind in ("gpu", "tpu")}
        llms = model_labels(view.catalogue)
    prefix = plan.prefix
    basis = segments(f"{prefix}_basis", "Numbers from", list(BASES), "run", BASES.__getitem__)
    asked: dict[str, Any] = {"basis": basis}
    if basis == "run":
        asked["run"] = planned_run(f"{prefix}_run", runs, WIDE)
    platforms = {"": OWN, **names}
    asked["platform"] = dropdown(
        f"{prefix}_on", "Platform", list(platforms), "", platforms.__getitem__, width=WIDE
    )
    if plan.llm:
        known = {"": OWN, **llms}
        asked["llm"] = dropdown(f"{prefix}_llm", "Model", list(known), "", known.__getitem__, width=WIDE)
    return asked


def _choices(plan: Plan) -> dict[str, Any]:
    return {
        name: segments(f"{plan.prefix}_{name}", label, list(words), first, words.__getitem__)
        for name, label, words, first in plan.choices
    }


def _engine(published: Result) -> dict[str, Any]:
    """The published engine whose rate stands in where no sync was timed."""
    rows = [row for row in records(published.tables["engines"]) if row["row_id"] != sync_engines.NOW]
    names = {"": USUAL} | {
        str(row["row_id"]): f"{row['method']} ({row['model']}, {row['row_id']})" for row in rows
    }
    picked = dropdown(
        "ws_engine", "Engine, where none was timed", list(names), "", names.__getitem__, width=WIDE
    )
    return {"engine": picked}


def show(plan: Plan, result: Result, mode: Mode) -> None:
    """Draw the chart that is picked."""
    draws = dict(plan.charts)
    names = tuple(draws)
    picked = segments(f"{plan.prefix}_show", "Chart", names, names[0], str)
    show_chart(picture(draws[picked], result, mode), key=f"{plan.prefix}_chart_{draws[picked].__name__}")


def show_tables(plan: Plan, result: Result) -> None:
    """Draw the tables of a plan."""
    said = _worded(result)
    for name, title in plan.tables[:OPEN]:
        show_table(said, name, title=title, labels=LABELS | plan.labels, optional=SIDE)
    if len(plan.tables) > OPEN:
        with st.expander("More tables", icon=":material/table:", key=f"{plan.prefix}_more"):
            for name, title in plan.tables[OPEN:]:
                show_table(said, name, title=title, labels=LABELS | plan.labels, optional=SIDE)


def _worded(result: Result) -> Result:
    """The tables with badges in words, and without an id beside its name."""
    tables = {}
    for name, frame in result.tables.items():
        shown = frame.drop(columns="cpu") if {"cpu", "name"} <= set(frame.columns) else frame
        if "status" in shown.columns:
            shown = shown.assign(status=[status_label(str(one)) for one in shown["status"]])
        tables[name] = shown
    return replace(result, tables=tables)
