"""How many sandbox cores a rollout pool needs, what they cost, and what waiting for them costs its GPUs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common import nothing, result
from analysis.frames import Row, table
from analysis.planning import SETTINGS, TORNADO, assumed, choose, draw, settings_table, tornado, values_of
from analysis.result import Notice, Result
from analysis.sandboxes_cpus import CPU_COLUMNS, cpus_table
from analysis.sandboxes_inputs import SandboxesParams, SandboxInputs, from_run, from_scratch, lacking
from analysis.sandboxes_model import (
    Costed,
    checks,
    costed,
    grid,
    loop_of,
    loop_or_refuse,
    needed,
    rate_per_s,
    servers_of,
    service_s,
)
from analysis.sandboxes_words import Drawn, answer, figures, notices
from data.view import View
from models.sandbox_time import MOST_SERVERS, queue

__all__ = ["SandboxesParams", "compute"]

CORES = [
    "cores_per_gpu", "sandboxes", "cores", "mem_gib", "busy_frac", "wait_frac", "wait_mean_s", "wait_p95_s",
    "open_wait_s", "phase_s", "wait_usd_per_step", "tools_usd_per_step", "idle_usd_per_step",
    "cpu_usd_per_step", "gpu_usd_per_step", "total_usd_per_step", "usd_per_rollout", "chosen", "cheapest",
]  # fmt: skip
CHECKED = [
    "what", "sandboxes", "erlang_s", "simulated_s", "simulated_low_s", "simulated_high_s", "off_frac",
    "erlang_p95_s", "simulated_p95_s",
]  # fmt: skip
HEAT = ["cores_per_gpu", "busy_s", "idle_usd_per_step", "phase_s"]
PARTS = ["part", "usd_per_rollout", "usd_per_step"]
EMPTY = {
    "by_cores": CORES, "cpus": CPU_COLUMNS, "checked": CHECKED, "heat": HEAT, "rollout_cost": PARTS,
    "settings": SETTINGS, "tornado": TORNADO,
}  # fmt: skip
DRAWN = 40
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def compute(view: View, params: SandboxesParams) -> Result:
    """Tables as EMPTY names them. A run without calls is an answer with the reason and no rows.

    Raises UserError for a run or platform that does not exist, or tools longer than the phase.
    """
    if params.basis == "scratch":
        return _answered(view, params, from_scratch(view, params))
    chosen = choose(view, params, lacking(view))
    if chosen.source is None:
        if not chosen.blocked:
            return nothing("sandboxes", view, params, EMPTY)
        bare = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
        told = [Notice("cannot_plan", chosen.blocked, chosen.tried), *chosen.notices]
        return result("sandboxes", view, params, chosen.blocked, tables=bare, notices=told)
    return _answered(view, params, from_run(view, params, chosen.source), chosen.notices)


def _answered(
    view: View, params: SandboxesParams, inputs: SandboxInputs, told: tuple[Notice, ...] = ()
) -> Result:
    values = values_of(inputs.settings)
    loop = loop_or_refuse(values, params)
    servers = servers_of(params, values)
    one = costed(values, params, servers, loop, tail=True)
    drawn = _drawn(inputs, params)
    cores = _by_cores(values, params, one)
    cpus, claims = cpus_table(view.catalogue, inputs, params)
    found = checks(inputs, params)
    ids = [name for name in (inputs.price_id, inputs.core_price_id) if name]
    return result(
        "sandboxes", view, params, answer(inputs, params, values, one),
        headline=figures(inputs, params, values, one, drawn),
        tables={
            "by_cores": cores,
            "cpus": cpus,
            "checked": table([_checked(check) for check in found], CHECKED, CHECKED[1:]),
            "heat": _heat(values, params),
            "rollout_cost": _parts(one),
            "settings": settings_table(inputs.settings),
            "tornado": _tornado(inputs, params),
        },
        assumptions=[*assumed(inputs.settings), *claims],
        notices=[*told, *inputs.notices, *notices(inputs, params, one, cores, drawn)],
        prices=pd.DataFrame({"price_id": ids}),
    )  # fmt: skip


def _by_cores(values: dict[str, float], params: SandboxesParams, one: Costed) -> pd.DataFrame:
    loop = loop_of(values, params)
    rows = []
    for servers in grid(values, params, one.servers):
        at = costed(values, params, servers, loop, tail=True)
        rows.append({**_row(values, params, at), "chosen": servers == one.servers})
    known = [row["total_usd_per_step"] for row in rows if not math.isnan(row["total_usd_per_step"])]
    least = min(known) if known else math.nan
    rows = [{**row, "cheapest": row["total_usd_per_step"] == least} for row in rows]
    return table(rows, CORES, CORES[:-2])


def _row(values: Mapping[str, float], params: SandboxesParams, at: Costed) -> Row:
    open_wait = math.nan
    if at.servers <= MOST_SERVERS:
        open_wait = float(queue(at.servers, rate_per_s(values, params), service_s(values, params)).wait_s)
    return {
        "cores_per_gpu": at.cores / values["gpus"], "sandboxes": at.servers, "cores": at.cores,
        "mem_gib": at.mem_gib, "busy_frac": at.phase.busy_frac, "wait_frac": at.phase.wait_frac,
        "wait_mean_s": at.phase.wait_s, "wait_p95_s": at.phase.wait_p95_s,
        "open_wait_s": open_wait, "phase_s": at.phase.total_s, "wait_usd_per_step": at.wait_usd,
        "tools_usd_per_step": at.tools_usd, "idle_usd_per_step": at.wait_usd + at.tools_usd,
        "cpu_usd_per_step": at.cpu_usd, "gpu_usd_per_step": at.gpu_usd, "total_usd_per_step": at.total_usd,
        "usd_per_rollout": at.usd_per_rollout,
    }  # fmt: skip


def _checked(check: Any) -> Row:
    return {
        "what": check.what, "sandboxes": check.servers, "erlang_s": check.formula_s,
        "simulated_s": check.simulated_s, "simulated_low_s": check.low_s, "simulated_high_s": check.high_s,
        "off_frac": check.formula_s / check.simulated_s - 1 if check.simulated_s > 0 else math.nan,
        "erlang_p95_s": check.formula_p95_s, "simulated_p95_s": check.simulated_p95_s,
    }  # fmt: skip


def _heat(values: dict[str, float], params: SandboxesParams) -> pd.DataFrame:
    """GPU dollars that tools and waits take, for calls of other lengths beside the same decoding."""
    loop = loop_of(values, params)
    start = values["cold_s"] if params.hold == "call" else 0.0
    rows: list[Row] = []
    tried = grid(values, params, needed(values, params))
    for servers in tried[:: max(1, len(tried) // 9)]:
        for times in TIMES:
            longer = replace(loop, busy_s=values["busy_s"] * times + start)
            at = costed(values, params, servers, longer)
            rows.append(
                {"cores_per_gpu": at.cores / values["gpus"], "busy_s": values["busy_s"] * times,
                 "idle_usd_per_step": at.wait_usd + at.tools_usd, "phase_s": at.phase.total_s}
            )  # fmt: skip
    return table(rows, HEAT, HEAT)


def _parts(one: Costed) -> pd.DataFrame:
    working = one.gpu_usd - one.wait_usd - one.tools_usd
    parts = {
        "GPUs that decode": working, "GPUs while tools run": one.tools_usd,
        "GPUs that wait for a sandbox": one.wait_usd, "Sandbox CPUs and memory": one.cpu_usd,
    }  # fmt: skip
    rows = [
        {"part": name, "usd_per_rollout": usd / one.rollouts, "usd_per_step": usd}
        for name, usd in parts.items()
    ]
    return table(rows, PARTS, PARTS[1:])


def _drawn(inputs: SandboxInputs, params: SandboxesParams) -> Drawn:
    """Cores and dollars of a rollout over joint draws; draws in which tools do not fit are counted apart."""
    drawn = draw(inputs.settings, DRAWN, params.seed)
    cores, usd, waits, unfit = [], [], [], 0
    for n in range(DRAWN):
        values = {name: float(v[n]) if np.ndim(v) else float(v) for name, v in drawn.items()}
        try:
            loop = loop_of(values, params)
        except ValueError:
            unfit += 1
            continue
        one = costed(values, params, servers_of(params, values), loop)
        cores.append(one.cores)
        usd.append(one.usd_per_rollout)
        waits.append(one.wait_usd + one.tools_usd)
    return Drawn(np.array(cores), np.array(usd), np.array(waits), unfit, DRAWN)


def _tornado(inputs: SandboxInputs, params: SandboxesParams) -> pd.DataFrame:
    priced = not math.isnan(values_of(inputs.settings)["usd_per_gpu_h"])

    def outcome(values: dict[str, float]) -> float:
        try:
            one = costed(values, params, servers_of(params, values))
        except ValueError:
            return math.nan
        return one.usd_per_rollout if priced else one.cores

    words, unit = ("$ a rollout", "usd") if priced else ("sandbox cores", "cores")
    return tornado(inputs.settings, outcome, words, unit)
