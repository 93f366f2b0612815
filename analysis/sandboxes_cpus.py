"""The same sandboxes on x86, Grace and Vera: what is published about speed, and what it would change."""

import math
from dataclasses import replace

import pandas as pd

from analysis.frames import Row, table
from analysis.planning import values_of
from analysis.result import Assumption
from analysis.sandboxes_inputs import CPUS, Cpu, SandboxesParams, SandboxInputs
from analysis.sandboxes_model import Costed, costed, loop_of, needed
from data.catalogue import Catalogue
from data.catalogue_types import STATUS_WORDS
from models.sandbox_time import tool_seconds_on

CPU_COLUMNS = [
    "cpu", "name", "speedup", "status", "source", "busy_s", "sandboxes", "cores", "cores_per_gpu",
    "host_platform", "host_cores_per_gpu", "host_holds", "idle_usd_per_step", "cpu_usd_per_step",
    "usd_per_rollout", "missing", "scenario",
]  # fmt: skip
HOSTS: dict[Cpu, str] = {"x86-reference": "b200-hgx", "grace": "gb200-nvl72", "vera": "vera-rubin-nvl72"}
CLAIM = "vera-plus-30"


def cpus_table(
    book: Catalogue, inputs: SandboxInputs, params: SandboxesParams
) -> tuple[pd.DataFrame, list[Assumption]]:
    """One row a CPU: speed against x86 with its badge, sandboxes and dollars at that speed.

    A speed that nobody published leaves the row without numbers, and a CPU without a price of a core without
    CPU dollars. A claim is a scenario: its basis (core, socket, dollar) is unknown.
    """
    rows, told = [], []
    for cpu in CPUS:
        speedup, status, source = _speed(book, params, cpu)
        row: Row = {"cpu": cpu, "name": _name(book, cpu), "speedup": speedup, "status": status,
                    "source": source, "scenario": status not in ("reference", "user"), "missing": "",
                    **_host(book, inputs, cpu)}  # fmt: skip
        if math.isnan(speedup):
            row["missing"] = f"no speed of {row['name']} against x86 in sandboxes is published: give one"
        else:
            row |= _at_speed(inputs, params, cpu, speedup)
        cores, held = row.get("cores_per_gpu"), row["host_cores_per_gpu"]
        row["host_holds"] = None if cores is None or math.isnan(held) else bool(held >= cores)
        if status in STATUS_WORDS and row["scenario"] and not math.isnan(speedup):
            name = f"{row['name']} in sandboxes against x86 (scenario)"
            told.append(Assumption(name, speedup, "ratio", status, source, ""))
        rows.append(row)
    numbers = [c for c in CPU_COLUMNS if c not in _WORDS]
    return table(rows, CPU_COLUMNS, numbers), told


_WORDS = {"cpu", "name", "status", "source", "host_platform", "host_holds", "missing", "scenario"}


def _speed(book: Catalogue, params: SandboxesParams, cpu: Cpu) -> tuple[float, str, str]:
    """Speed against x86, its status, and who says so; NaN where nobody does."""
    if cpu == "x86-reference":
        return 1.0, "reference", "what the seconds of a call were measured on"
    given = params.grace_speedup if cpu == "grace" else params.vera_speedup
    if given is not None:
        return given, "user", "your setting"
    claim = next((c for c in book.claims() if c.claim_id == CLAIM), None)
    if cpu == "grace" or claim is None or claim.value is None:
        return math.nan, "unsourced", ""
    return (
        claim.value,
        claim.status,
        f"{claim.statement} ({claim.claim_id}: {claim.source}; {claim.conditions})",
    )


def _name(book: Catalogue, cpu: Cpu) -> str:
    platform = book.platform(cpu)
    return cpu if platform is None else platform.name


def _host(book: Catalogue, inputs: SandboxInputs, cpu: Cpu) -> Row:
    """Cores that a GPU's own host has, of the asked platform where its host is this CPU."""
    own = book.fact(inputs.platform, "host_cpu")
    platform = inputs.platform if own is not None and own.value == cpu else HOSTS[cpu]
    fact = book.fact(platform, "cpu_cores_per_gpu")
    held = math.nan if fact is None or fact.number is None else fact.number
    return {"host_platform": platform, "host_cores_per_gpu": held}


def _at_speed(inputs: SandboxInputs, params: SandboxesParams, cpu: Cpu, speedup: float) -> Row:
    base = values_of(inputs.settings)
    busy = float(tool_seconds_on(base["busy_s"], base["cpu_frac"], speedup))
    loop = loop_of(base, params)
    own = loop.busy_s - base["busy_s"] + busy
    calls = base["calls_per_rollout"]
    values = {**base, "busy_s": busy}
    # the same decoding with shorter calls: a rollout ends sooner, so the phase it was measured in shrinks
    values["rollout_phase_s"] = base["rollout_phase_s"] - calls * (base["busy_s"] - busy) * (
        base["rollouts_per_step"] / min(base["in_flight"], base["rollouts_per_step"])
    )
    servers = needed(values, params)
    one: Costed = costed(base, params, servers, replace(loop, busy_s=own))
    priced = cpu == "x86-reference" or params.usd_per_core_h is not None or params.cores_from == "host"
    cpu_usd = one.cpu_usd if priced else math.nan
    row: Row = {
        "busy_s": busy, "sandboxes": servers, "cores": one.cores, "cores_per_gpu": one.cores / base["gpus"],
        "idle_usd_per_step": one.wait_usd + one.tools_usd, "cpu_usd_per_step": cpu_usd,
        "usd_per_rollout": (one.gpu_usd + cpu_usd) / one.rollouts,
    }  # fmt: skip
    if not priced:
        row["missing"] = "no price of a core of it is published: give what a core-hour costs"
    return row
