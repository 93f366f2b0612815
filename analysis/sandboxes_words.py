"""Sentences, figures and notices about sandboxes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.common import figure
from analysis.frames import records
from analysis.planning import Floats, p10_p90
from analysis.result import Figure, Notice
from analysis.sandboxes_inputs import IMAGES, SandboxesParams, SandboxInputs
from analysis.sandboxes_model import Costed, open_need
from analysis.words import count, digits3, money, percent


@dataclass(frozen=True)
class Drawn:
    """Cores, dollars a rollout and GPU dollars lost to tools a step, one a draw that fits; `unfit` do not."""

    cores: Floats
    usd_per_rollout: Floats
    idle_usd: Floats
    unfit: int
    size: int


def answer(inputs: SandboxInputs, params: SandboxesParams, values: Mapping[str, float], one: Costed) -> str:
    """How many, what a rollout costs, and what tools and waits take of the GPUs."""
    gpus, node = values["gpus"], values["gpus_per_node"]
    each = one.cores / gpus
    what = "each holds its own" if params.hold == "rollout" else "calls share them"
    verb = "need" if params.cores_per_gpu is None else "have"
    head = f"{inputs.run}: " if inputs.run else ""
    at_once = min(values["in_flight"], values["rollouts_per_step"])
    text = (
        f"{head}{count(at_once)} rollouts at a time {verb} "
        f"{count(one.servers)} sandboxes ({what}): {count(one.cores)} cores, {digits3(each)} a GPU or "
        f"{digits3(each * node)} a node of {node:.0f}, and {count(one.mem_gib)} GiB"
    )
    if math.isnan(one.usd_per_rollout):
        return f"{text}. {inputs.no_price or 'A price of a core or of memory is missing.'}"
    lost = one.wait_usd + one.tools_usd
    return text + (
        f". A rollout costs {money(one.usd_per_rollout)}, of it {percent(one.cpu_usd / one.total_usd)} for "
        f"CPUs; tools and waits take {money(lost)} of GPU time a step, "
        f"{percent(lost / one.gpu_usd)} of what the GPUs cost."
    )


def figures(
    inputs: SandboxInputs, params: SandboxesParams, values: Mapping[str, float], one: Costed, drawn: Drawn
) -> list[Figure]:
    """Cores a GPU, dollars of a rollout, of waiting and of tools, wait, cores when arrivals are random."""
    gpus = values["gpus"]
    fits = drawn.unfit == 0
    cores = p10_p90(drawn.cores / gpus) if fits else (None, None)
    usd = p10_p90(drawn.usd_per_rollout) if fits else (None, None)
    idle = p10_p90(drawn.idle_usd) if fits else (None, None)
    no_price = inputs.no_price or "no price of a core or of memory"
    boundary = params.boundary
    return [
        figure("sandbox_cores_per_gpu", one.cores / gpus, low=cores[0], high=cores[1], interval="p10_p90"),
        figure("sandbox_cores", one.cores),
        figure("sandbox_usd_per_rollout", one.usd_per_rollout, low=usd[0], high=usd[1], interval="p10_p90",
               boundary=boundary, missing=no_price),
        figure("sandbox_cpu_usd", one.cpu_usd, boundary=boundary, missing=no_price),
        figure("sandbox_wait_usd", one.wait_usd, boundary=boundary, missing=no_price),
        figure("sandbox_idle_usd", one.wait_usd + one.tools_usd, low=idle[0], high=idle[1],
               interval="p10_p90", boundary=boundary, missing=no_price),
        figure("sandbox_wait_p95", one.phase.wait_p95_s),
        figure("sandbox_open_need", open_need(values, params), missing="too many for the formula"),
    ]  # fmt: skip


def notices(
    inputs: SandboxInputs, params: SandboxesParams, one: Costed, cores: pd.DataFrame, drawn: Drawn
) -> list[Notice]:
    """What the numbers leave out or stretch."""
    out, run = [], inputs.run
    if inputs.no_price:
        out.append(Notice("price_missing", inputs.no_price, inputs.platform))
    if drawn.unfit:
        words = (
            f"In {drawn.unfit} of {drawn.size} draws tools take longer than the rollout phase, so no "
            "interval is given: measure the seconds of a call or the phase."
        )
        out.append(Notice("draws_unfit", words, run))
    best = next((row for row in records(cores) if row["cheapest"]), None)
    if best is not None and best["sandboxes"] != one.servers:
        words = (
            f"Cheapest by dollars alone: {digits3(best['cores_per_gpu'])} cores a GPU, "
            f"{money(best['total_usd_per_step'])} a step against {money(one.total_usd)}."
        )
        out.append(Notice("cheaper_cores", words, run))
    if inputs.arm_host:
        words = (
            "Grace and Vera hosts are ARM: x86 images do not run there and must be built again; the "
            f"published SWE set holds {IMAGES:,} images."
        )
        out.append(Notice("arm_images", words, inputs.platform))
    words = (
        "A core is taken as one vCPU of the price book (a hardware thread); whether the published core per "
        "task is one is not said."
    )
    out.append(Notice("core_or_thread", words))
    if params.cores_from == "host":
        out.append(
            Notice("host_cores", "Cores of GPU hosts are paid with the GPUs: their dollars are 0 here.")
        )
    return out
