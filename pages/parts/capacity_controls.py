"""Inputs of the cadence in the user's words: how often, done by when, how sure, and what a cycle holds."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from analysis.words import digits3
from data.catalogue import Catalogue
from data.model_names import model_labels
from pages.parts.choose import dropdown, planned_run, segments
from pages.parts.generation_address import number, several
from pages.parts.generation_levers import ON_TARGET, PRECISION_OF, PRECISIONS
from pages.parts.plan_fields import WIDE, Field, Known, count, fields, lines, percent

BASES = {"run": "A run", "stated": "A known step", "model": "A model"}
EVERY = {"weekly": 168.0, "daily": 24.0, "every two weeks": 336.0, "monthly": 730.0, "every … hours": 0.0}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02d}:00" for hour in range(24))
LAST_HOUR, SPARE_H = "18:00", 6.0
MOST_TARGETS, MOST_CAMPAIGNS, MOST_SHARES = 8, 12, 8
PAY = {"period": "All the time", "cycle": "While it runs"}
MODES = {"sync_colocated": "Synchronous", "async_disaggregated": "Asynchronous, own pools"}
LONGEST_H = 8784.0

CYCLE = (
    count("steps", "Steps of a campaign", 1, 100_000, 50),
    count("evals", "Evaluations of a campaign", 0, 1000),
    Field("eval_min", "Minutes of an evaluation", 0, 1440, 5),
)
CHANGES = (
    Field("length_times", "Length of responses (x today)", 0.1, 20, 0.1),
    Field("length_growth", "Length at the end (x the start)", 0.2, 10, 0.1),
    Field("rollouts_times", "Rollouts a step (x today)", 0.05, 64, 0.1),
    Field("tool_s", "Tool time on top of a step (s)", 0, 36_000, 10),
)
FLEET = (
    count("gpus", "Working GPUs (empty: the smallest fleet that is sure enough)", 1, 131_072, 8),
    count("most_gpus", "Look at up to so many GPUs", 1, 131_072, 64),
    percent("spare_frac", "Spare GPUs", 0, 100, 2.5),
    count("domain_group", "GPUs that must share one NVLink domain", 0, 4096, 8),
)
FAILURES = (
    Field("failure_rate", "Failures a GPU-hour", 0, 0.01, 0.00001),
    Field("restart_min", "From failure to work (minutes)", 0, 1440, 5),
    Field("cold_start_min", "First launch (minutes)", 0, 1440, 5),
    Field("warm_start_min", "Further launches (minutes)", 0, 1440, 5),
    Field("walltime_h", "Longest job (hours)", 1, LONGEST_H, 4),
    Field("queue_min", "Waiting for a launch (minutes)", 0, 10_080, 5),
    count("checkpoint_steps", "Steps between checkpoints (0: the best)", 0, 10_000, 5),
    Field("checkpoint_s", "Stall of a checkpoint (s)", 0, 3600, 10),
    Field("repair_h", "Until a failed node is back (hours)", 0, 720, 4),
    Field("maintenance_h", "Planned downtime a period (hours)", 0, 720, 1),
    percent("goodput", "Goodput as measured, instead of all above", 5, 100),
)
STATED = (
    Field("step_s", "Seconds of a step", 0.1, 1e6, 10),
    count("step_gpus", "On so many GPUs", 1, 131_072, 8),
    percent("serial_frac", "Of it GPUs do not shorten", 0, 99.9),
)
SECOND = (
    count("second_gpus", "The same step on another count of GPUs", 1, 131_072, 8),
    Field("second_step_s", "Its seconds there", 0.1, 1e6, 10),
)
MODEL = (
    count("prompts", "Prompts a step", 1, 65_536, 16),
    count("group", "Rollouts a prompt", 1, 1024, 4),
    Field("prompt_tokens", "Tokens of a prompt", 1, 1e6, 100),
    Field("len_p50", "Length of a response, p50 (tokens)", 1, 1e6, 500),
    Field("len_p95", "Length, p95 (tokens)", 1, 1e6, 500),
    Field("len_max", "Length, limit (tokens)", 1, 1e6, 1024),
    Field("passes", "Passes over the rollouts", 0, 8),
    count("step_gpus", "GPUs of the modelled step", 1, 131_072, 8),
)
ALL = (*CYCLE, *CHANGES, *FLEET, *FAILURES, *STATED, *SECOND, *MODEL)
"""Every number, for what counts while it is empty."""
ASSUMED = {
    "evals": "evaluations a campaign", "eval_min": "an evaluation, in which the fleet waits",
    "length_growth": "length at the end over the start", "repair_h": "hours until a failed node is back",
    "maintenance_h": "planned maintenance a period", "restart_min": "from failure to work",
    "cold_start_min": "first launch of a campaign", "warm_start_min": "each further launch",
    "walltime_h": "longest job of the scheduler", "queue_min": "queue of a launch",
    "checkpoint_steps": "steps between saves", "checkpoint_s": "stall of a save",
    "spare_frac": "spare over working GPUs", "failure_rate": "failures of jobs of 16,384 GPUs",
}  # fmt: skip
"""Parameter -> the assumption that says where its default is from."""
WHEN_EMPTY = {
    "gpus": Known("the smallest fleet"),
    "domain_group": Known("no such group"),
    "failure_rate": Known("by size, as published", "between a cluster of small jobs and a huge one"),
    "goodput": Known("from what is above"),
    "serial_frac": Known("as in published pairs"),
    "second_gpus": Known("not measured"),
    "second_step_s": Known("not measured"),
}
CAMPAIGN_TIP = (
    "Empty: one campaign as above. One a line: a name, then what differs, such as "
    "`math:steps=200,length=2,tool_s=60,step_s=1200,evals=2,rollouts=2`. They run one after the other."
)
SHARE_TIP = (
    "Other programmes on the same fleet, one a line: `name:gpus=64,hours=30,priority=2`. Hours: its usual "
    "cycle on those GPUs. A smaller priority goes first."
)


def cadence_inputs(
    runs: list[str], platforms: Mapping[str, str], catalogue: Catalogue, known: Mapping[str, Known]
) -> dict[str, Any]:
    """Draw all inputs, the first ones open; returns the parameters that a person gave."""
    asked: dict[str, Any] = {**_basis(runs, platforms, catalogue, known), **_rhythm()}
    asked["targets"] = several(
        "Platforms", "ca_on", platforms, noun="platform", most=MOST_TARGETS,
        instead="the run's own and two newer ones", placeholder="the run's own and two newer ones",
    )  # fmt: skip
    asked |= fields("ca", CYCLE, known)
    with st.expander("What changes against today", key="ca_box_change"):
        asked |= fields("ca", CHANGES, known)
    with st.expander("Several campaigns, other programmes", key="ca_box_programme"):
        asked |= _programme()
    with st.expander("The fleet, and how it is paid", key="ca_box_fleet"):
        asked |= _fleet(platforms, known)
    with st.expander("Failures, start-up, checkpoints", key="ca_box_failures"):
        asked |= fields("ca", FAILURES, known)
    with st.expander("Precision", key="ca_box_precision"):
        asked |= _precisions()
    return asked


def _basis(
    runs: list[str], platforms: Mapping[str, str], catalogue: Catalogue, known: Mapping[str, Known]
) -> dict[str, Any]:
    basis = segments("ca_basis", "Step time from", list(BASES), "run", BASES.__getitem__)
    if basis == "run":
        return {"basis": basis, "run": planned_run("ca_run", runs, WIDE)}
    asked: dict[str, Any] = {"basis": basis}
    first = "gb200-nvl72"
    if basis == "stated":
        asked |= fields("ca", STATED, known)
        asked["step_platform"] = dropdown(
            "ca_step_on", "Measured on", list(platforms), first, platforms.__getitem__, width=WIDE
        )
        with st.expander("Measured at two sizes", key="ca_box_second"):
            asked |= fields("ca", SECOND, known)
        return asked
    llms = model_labels(catalogue, shaped_only=True)
    asked["llm"] = dropdown("ca_llm", "Model", list(llms), "qwen3-235b-a22b", llms.__getitem__, width=WIDE)
    asked["mode"] = segments("ca_mode", "Mode", list(MODES), "sync_colocated", MODES.__getitem__)
    asked |= fields("ca", MODEL, known)
    asked["step_platform"] = dropdown(
        "ca_step_on", "Step modelled on", list(platforms), first, platforms.__getitem__, width=WIDE
    )
    return asked


def _precisions() -> dict[str, Any]:
    """No log says the precision of a step: as on Platform generations, it can be said here."""
    asked = {}
    for name, (param, label) in PRECISION_OF.items():
        names = PRECISIONS if name.startswith("source_") else ON_TARGET
        asked[name] = dropdown(
            param.replace("pr_", "ca_"), label, list(names), next(iter(names)), names.__getitem__, width=WIDE
        )
    return asked


def _rhythm() -> dict[str, Any]:
    """How often, by when, how sure: hours of the period and of the deadline inside it."""
    every = dropdown("ca_every", "How often", list(EVERY), "weekly", str, width=WIDE)
    period = EVERY[every] or number(
        "Hours of a period", "ca_period_h", 1, LONGEST_H, what="a period of", instead="168", step=1.0,
        placeholder="168", width=WIDE,
    ) or EVERY["weekly"]  # fmt: skip
    asked = {"period_h": period, "deadline_h": _deadline(every, period)}
    sure = number(
        "Certainty to finish in time (%)", "ca_sure", 50, 99.9, what="a certainty of", instead="95", step=1.0,
        placeholder="95", width=WIDE,
    )  # fmt: skip
    return asked | ({} if sure is None else {"wanted": sure / 100})


def _deadline(every: str, period: float) -> float:
    """Hours after the start of the period, which begins on Monday at 0:00 or at 0:00 of its first day."""
    if every in ("weekly", "daily"):
        day = 0
        if every == "weekly":
            day = DAYS.index(dropdown("ca_day", "Done by", DAYS, "Sunday", str, width=WIDE))
        hour = HOURS.index(dropdown("ca_hour", "At (UTC)", HOURS, LAST_HOUR, str, width=WIDE))
        return 24.0 * day + hour or period
    usual = max(0.5, period - SPARE_H)
    held = number(
        "Done after so many hours of it", "ca_done_h", 0.5, period, what="a deadline after hours of",
        instead=digits3(usual), step=1.0, placeholder=digits3(usual), width=WIDE,
    )  # fmt: skip
    return usual if held is None else held


def _programme() -> dict[str, Any]:
    campaigns = lines(
        "ca_campaigns", "Campaigns", what="campaigns", placeholder="math:steps=200\ncode:steps=100,tool_s=60",
        tip=CAMPAIGN_TIP, most=MOST_CAMPAIGNS,
    )  # fmt: skip
    shares = lines(
        "ca_share", "Other programmes", what="programmes", placeholder="evals:gpus=64,hours=30,priority=2",
        tip=SHARE_TIP, most=MOST_SHARES,
    )  # fmt: skip
    priority = fields(
        "ca", (count("priority", "Own priority (1 goes first)", 1, 99),), {"priority": Known("1")}
    )
    return {"campaigns": campaigns, "share": shares, **priority}


def _fleet(platforms: Mapping[str, str], known: Mapping[str, Known]) -> dict[str, Any]:
    names = {"": "the cheapest that is sure enough", **platforms}
    asked: dict[str, Any] = {
        "focus": dropdown("ca_look", "The answer speaks of", list(names), "", names.__getitem__)
    }
    asked["quotes"] = lines(
        "ca_quotes", "Your prices (USD a GPU-hour)", what="prices", placeholder="gb300-nvl72:4.20",
        tip="One a line, `platform:USD`; used instead of the price book's.", most=MOST_TARGETS,
    )  # fmt: skip
    asked["pay"] = segments("ca_pay", "The fleet is paid", list(PAY), "period", PAY.__getitem__)
    return asked | fields("ca", FLEET, known)
