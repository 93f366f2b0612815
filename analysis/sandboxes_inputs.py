"""What sandboxes are sized by: calls that were logged, published cases, or what you say."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from analysis.frames import known, number, records
from analysis.own_inputs import Setting
from analysis.planning import PlanParams, gpu_price, own_platform, platform_name, resolved, setting
from analysis.projection_run import SourceRun
from analysis.result import Notice
from analysis.words import count
from data.catalogue import Catalogue
from data.queries import sandbox as queries
from data.queries.filters import Filters
from data.view import View

Cpu = Literal["x86-reference", "grace", "vera"]
CPUS: tuple[Cpu, ...] = ("x86-reference", "grace", "vera")
SCRATCH_PLATFORM = "h100-sxm"
CASE = "NVIDIA-NeMo/Gym@07d6b0d fern/versions/latest/pages/infrastructure/engineering-notes/swe-rl-case-study"
TAX = "daytona.io/dotfiles/the-hidden-infrastructure-tax-in-coding-agent-rl (the vendor's own benchmark)"
IMAGES = 7816
GIB = 2.0**30
Positive = Annotated[float | None, Field(gt=0, le=1e6)]
Seconds = Annotated[float | None, Field(ge=0, le=1e5)]
Frac = Annotated[float | None, Field(ge=0, le=1)]
Usd = Annotated[float | None, Field(ge=0, le=100)]
Ratio = Annotated[float | None, Field(ge=0.1, le=10)]


class SandboxesParams(PlanParams):
    """None: from the calls of the run, or published cases (basis scratch).

    `hold`: a sandbox for a whole rollout, or one from a shared pool for each call. `longest_wait_s`: what 95
    of 100 calls wait at most. `latency_frac`: share of a decode step that does not shrink with the batch.
    `cores_from`: rented beside the GPUs, or those of their hosts, which are paid already. `cores_per_gpu`:
    what you have; None for what is recommended.
    """

    question: ClassVar[str] = "sandboxes"
    hold: Literal["rollout", "call"] = "rollout"
    gpus: Annotated[int | None, Field(ge=1, le=100_000)] = None
    gpus_per_node: Annotated[int | None, Field(ge=1, le=72)] = None
    rollouts_per_step: Annotated[float | None, Field(ge=1, le=1e7)] = None
    rollout_phase_s: Positive = None
    in_flight: Annotated[int | None, Field(ge=1, le=8192)] = None
    calls_per_rollout: Annotated[float | None, Field(gt=0, le=1e5)] = None
    busy_s: Annotated[float | None, Field(gt=0, le=1e5)] = None
    busy_cv: Annotated[float | None, Field(ge=0, le=20)] = None
    queued_s: Seconds = None
    cold_s: Seconds = None
    cold_p95_s: Seconds = None
    cores_per_sandbox: Annotated[float | None, Field(gt=0, le=1024)] = None
    mem_gib: Annotated[float | None, Field(gt=0, le=4096)] = None
    longest_wait_s: Annotated[float, Field(gt=0, le=3600)] = 1.0
    latency_frac: Frac = None
    usd_per_core_h: Usd = None
    usd_per_gib_h: Usd = None
    cores_from: Literal["rented", "host"] = "rented"
    cpu_frac: Frac = None
    grace_speedup: Ratio = None
    vera_speedup: Ratio = None
    cores_per_gpu: Annotated[float | None, Field(gt=0, le=1024)] = None


@dataclass(frozen=True)
class SandboxInputs:
    """Everything that sizing needs; `arm_host`: the GPUs' own hosts are Grace or Vera."""

    settings: dict[str, Setting]
    platform: str
    name: str
    price_id: str
    core_price_id: str
    no_price: str
    run: str
    arm_host: bool = False
    notices: tuple[Notice, ...] = ()


def lacking(view: View) -> Callable[[SourceRun], str]:
    """Why a run's sandboxes cannot be sized: it logs no calls, or no rollouts."""

    def why(source: SourceRun) -> str:
        found = records(queries.load(view, Filters((source.run,))))
        if not found:
            return f"No file says how {source.run} used sandboxes: load the table of environment calls"
        if not known(number(found[0]["busy_mean_s"])):
            return f"The sandbox calls of {source.run} have no seconds (busy_s)"
        if source.tokens is None or not source.tokens.rollouts > 0:
            return f"Rollouts a step of {source.run} are not logged"
        if source.timed is None or "rollout" not in source.timed.phases:
            return f"The log of {source.run} has no timer of rollouts"
        return ""

    return why


def from_run(view: View, params: SandboxesParams, source: SourceRun) -> SandboxInputs:
    """Inputs of a run that logs its calls. Raises ValueError without rollouts or timers."""
    engines, timed, tokens = source.pools.engines, source.timed, source.tokens
    if engines is None or timed is None or tokens is None:
        raise ValueError(f"{source.run} has no engines")
    calls = {
        name: number(value) for name, value in records(queries.load(view, Filters((source.run,))))[0].items()
    }
    run = source.run
    platform = own_platform(params, engines.platform_id, run)
    told: dict[str, Any] = {"status": "measured", "source": f"{count(calls['calls'])} calls of {run}"}
    of_run: dict[str, Any] = {"status": "measured", "source": run}
    phase = timed.phases["rollout"]
    beside = (
        timed.phases.get("env") if source.pools.mode in ("sync_colocated", "sync_disaggregated") else None
    )
    whole = float(phase.mean()) + (float(beside.mean()) if beside is not None else 0.0)
    each = calls["calls"] / (calls["steps"] * tokens.rollouts) if calls["steps"] > 0 else math.nan
    busy, sd = calls["busy_mean_s"], calls["busy_sd_s"]
    found = [
        setting("gpus", "GPUs that generate", engines.gpus, "GPUs", **of_run),
        setting("rollouts_per_step", "Rollouts a step", tokens.rollouts, "rollouts", **of_run),
        setting("rollout_phase_s", "Rollout phase with its tools", whole, "s", **of_run),
        setting("in_flight", "Rollouts at a time", round(tokens.rollouts), "rollouts", note="exact",
                source="a whole step at once: no log says how many run together"),
        _calls(each, calls["calls"], run),
        _of("busy_s", "A call", busy, "s", told),
        _of("busy_cv", "Variation of a call", sd / busy if known(sd) else math.nan, "ratio", told, 1.0),
        _of("queued_s", "Waited for a sandbox", calls["queued_mean_s"], "s", told, 0.0),
        _of("cold_s", "Start of a sandbox, warm ones as 0", calls["cold_mean_s"], "s", told, 0.0),
        _of("cold_p95_s", "Start of a sandbox, p95", calls["cold_p95_s"], "s", told, 0.0),
        _of("cores_per_sandbox", "Cores of a sandbox", calls["cores_mean"], "cores", told, 1.0),
        _of("mem_gib", "Memory of a sandbox, p95", calls["mem_p95_bytes"] / GIB, "GiB", told, 4.0),
    ]  # fmt: skip
    told_few = _sampled(run, each, calls["calls"], calls["steps"] * tokens.rollouts)
    return _finished(view.catalogue, params, platform, found, run, told_few)


def _sampled(run: str, each: float, calls: float, rollouts: float) -> tuple[Notice, ...]:
    """That a log with fewer calls than rollouts is taken as one call each."""
    if not each < 1:
        return ()
    words = (
        f"The log of {run} holds {count(calls)} calls for {count(rollouts)} rollouts: a sample, or calls of "
        "some rollouts only. One call a rollout is assumed; give calls_per_rollout."
    )
    return (Notice("calls_sampled", words, run),)


def from_scratch(view: View, params: SandboxesParams) -> SandboxInputs:
    """Inputs of the published case of 512 concurrent tasks, with what you gave in their place."""
    case: dict[str, Any] = {"status": "measured", "source": CASE, "date": "2026-02-13"}
    tax: dict[str, Any] = {
        "status": "vendor_spec",
        "source": f"{TAX} (the vendor's own benchmark)",
        "date": "2026",
    }
    inside = "inside the seconds of a call above: the benchmark does not tell it apart"
    found = [
        setting("gpus", "GPUs that generate", 128.0, "GPUs",
                source="16 nodes of the case, 8 GPUs each assumed"),
        setting("rollouts_per_step", "Rollouts a step", 512.0, "rollouts", note="exact", **case),
        setting("rollout_phase_s", "Rollout phase with its tools", 1200.0, "s",
                low=960.0, high=1440.0, note="20 minutes for train and rollout, fastest reached", **case),
        setting("in_flight", "Rollouts at a time", 512.0, "rollouts", note="exact", **case),
        setting("calls_per_rollout", "Calls of a rollout", 50.0, "calls", low=25.0, high=100.0,
                note="50 actions of the benchmark; the case allows up to 100 turns", **tax),
        setting("busy_s", "A call", 20.1 / 50, "s", low=12.9 / 50, high=161.5 / 50,
                note="Kubernetes; fastest and slowest back end of the benchmark", **tax),
        setting("busy_cv", "Variation of a call", 1.0, "ratio", source="exponential: nobody published it"),
        setting("queued_s", "Waited for a sandbox", 0.0, "s", source=inside),
        setting("cold_s", "Start of a sandbox", 0.0, "s", source=inside),
        setting("cold_p95_s", "Start of a sandbox, p95", 0.0, "s", source=inside),
        setting("cores_per_sandbox", "Cores of a sandbox", 1.0, "cores", low=1.0, high=2.0,
                note="the authors expect it to grow; hosted sandboxes have 2", **case),
        setting("mem_gib", "Memory of a sandbox", 4.0, "GiB", low=2.0, high=64.0, status="analyst",
                source="comp-work/gke-sandboxes docs/comparison.md; 64 is a published limit, not a use",
                date="2026-11"),
    ]  # fmt: skip
    return _finished(view.catalogue, params, params.platform or SCRATCH_PLATFORM, found, "", ())


def _of(
    name: str, label: str, value: float, unit: str, told: dict[str, Any], otherwise: float | None = None
) -> Setting:
    if known(value):
        return setting(name, label, value, unit, **told)
    return setting(name, label, otherwise, unit, source="not logged", status="derived")


def _calls(each: float, calls: float, run: str) -> Setting:
    label = "Calls of a rollout"
    if each >= 1:
        return setting(
            "calls_per_rollout", label, each, "calls", status="measured", source=f"{run}, its calls"
        )
    return setting("calls_per_rollout", label, 1.0, "calls", low=1.0, high=2.0,
                   source=f"{count(calls)} logged calls, fewer than rollouts: one each assumed")  # fmt: skip


def _finished(
    book: Catalogue, params: SandboxesParams, platform: str, found: list[Setting], run: str,
    notices: tuple[Notice, ...],
) -> SandboxInputs:  # fmt: skip
    price, price_id, no_price = gpu_price(book, params, platform)
    core, core_id = _core_price(book)
    ram = book.tco_default("sandbox_ram_usd_per_gib_hour")
    node = book.fact(platform, "gpus_per_node")
    size = 8.0 if node is None or not node.number else node.number
    if not run and params.gpus_per_node is None:
        size = 8.0
    host = book.fact(platform, "host_cpu")
    arm_host = host is not None and host.value in ("grace", "vera")
    more = [
        setting("gpus_per_node", "GPUs of a node", size, "GPUs", source="8 assumed" if not run else platform),
        setting("latency_frac", "Share of a decode step that the batch does not shrink", 0.5, "fraction",
                low=0.2, high=0.8, source="share taken where none was measured: 0.2 to 0.8"),
        setting("cpu_frac", "Share of a call that is CPU work", 1.0, "fraction",
                source="the scope of the claims: all sandbox seconds shrink alike"),
        core,
        setting("usd_per_gib_h", "Memory", None if ram is None else ram.value, "USD per GiB-hour",
                status="unsourced" if ram is None else ram.status, source="" if ram is None else ram.source,
                date="" if ram is None else ram.source_date),
        price,
    ]  # fmt: skip
    return SandboxInputs(
        resolved(params, [*found, *more]), platform, platform_name(book, platform), price_id, core_id,
        no_price, run, arm_host, notices,
    )  # fmt: skip


def _core_price(book: Catalogue) -> tuple[Setting, str]:
    choice = book.core_price("x86-reference")
    label, unit = "Core-hour (vCPU, x86)", "USD per vCPU-hour"
    if choice is None:
        return setting("usd_per_core_h", label, None, unit, status="unsourced"), ""
    ends = {} if choice.low == choice.high else {"low": choice.low, "high": choice.high}
    found = setting(
        "usd_per_core_h", label, choice.usd_per_gpu_h, unit, status=choice.status,
        source=f"{choice.price_id}: {choice.source}", date=choice.as_of or "", **ends,
    )  # fmt: skip
    return found, choice.price_id
