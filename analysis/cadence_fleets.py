"""Fleets of one platform for a programme: cycle, chance and parts by count of GPUs; the smallest."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.cadence_params import CadenceParams, CampaignSpec
from analysis.cadence_steps import Carrier, StepDraws
from analysis.planning import p10_p90
from analysis.projection_money import Floats
from data.operations import operation
from models.cadence import Campaign, Cycle, Launches, Rounded, Running, cycle_draws, rounded, usable_in
from models.draws import money_draws
from models.failures import JobRates, Saving, best_steps, spare_wait_h
from models.fleet import Sharer, Turn, shared
from models.stats import z_value

HOUR = 3600.0
OWN_NAME = "this programme"
FEW, RATIO = (1, 2, 3, 4, 6, 8, 12), 1.4
GPUS_OF_NODE = 8
HARDWARE = "b200_failures_per_gpu_hour"


@functools.cache
def job_rates() -> JobRates:
    """Published failures of jobs of 1,024 and of 16,384 GPUs, each with the lowest and highest seen."""
    small, large = 1024.0, 16_384.0
    low = operation("rsc2_failures_per_node_day").value / 24 / GPUS_OF_NODE
    manual = 1 / operation("opt175b_job_mtti_hours").value
    usual = 1 / operation("rsc_job_mttf_hours_1024").value
    return JobRates(
        small,
        (low * small, usual, max(manual, usual)),
        large,
        (
            low * large,
            operation("llama3_interruptions_per_gpu_hour").value * large,
            1 / operation("rsc_job_mttf_hours_16384").value,
        ),
    )


@dataclass(frozen=True)
class Failing:
    """Failures an hour of a job: low, usual, high; share of them that take a node out."""

    low: float
    usual: float
    high: float
    hardware_frac: float


def failing(params: CadenceParams, gpus: int) -> Failing:
    """Failures an hour on `gpus` GPUs: the given rate in proportion, else published by size."""
    hardware = operation(HARDWARE).value * gpus
    if params.failure_rate is not None:
        rate = params.failure_rate * gpus
        return Failing(rate, rate, rate, min(1.0, hardware / rate) if rate else 0.0)
    low, usual, high = (float(rate) for rate in job_rates().per_h(gpus))
    return Failing(low, usual, high, min(1.0, hardware / usual))


@dataclass(frozen=True, eq=False)
class Fleet:
    """A count of working GPUs with everything about its cycle; draws (draws,) in hours.

    `turns`: this programme and the others of the fleet, in that order; `parts_h`: mean hours by part
    of the draws from p10 to p90 of the cycle;
    `goodput_frac`: mean of the draws, with `goodput_ends`, their p10 and p90.
    """

    gpus: int
    held: Rounded
    step_s: Floats
    run_h: Floats
    finish_h: Floats
    p_finish: float
    parts_h: Mapping[str, float]
    goodput_frac: float
    goodput_ends: tuple[float | None, float | None]
    every_steps: int
    turns: tuple[Turn, ...]
    steps: Mapping[str, StepDraws]
    missing: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def spare_gpus(self) -> int:
        """GPUs that are held and on which this programme does not work; others of the fleet may."""
        return self.fleet_gpus - self.gpus

    @property
    def fleet_gpus(self) -> int:
        """GPUs that are held."""
        return int(self.held.fleet_gpus)


@dataclass
class Planner:
    """Fleets of one platform, each evaluated once; `times`: what every step is multiplied with."""

    carrier: Carrier
    params: CadenceParams
    times: float = 1.0
    known: dict[int, Fleet] = field(default_factory=dict)

    def fleet(self, gpus: int) -> Fleet:
        """The fleet in which this programme works on `gpus` GPUs.

        With other programmes also fleets that hold the first of them beside it: the smallest that does what
        is wanted, else the likeliest.
        """
        if gpus not in self.known:
            found = [self._evaluated(gpus, beside) for beside in self._besides()]
            enough = [one for one in found if one.p_finish >= self.params.wanted]
            if enough:
                self.known[gpus] = min(enough, key=lambda one: one.fleet_gpus)
            else:
                self.known[gpus] = max(found, key=lambda one: (one.p_finish, -one.fleet_gpus))
        return self.known[gpus]

    def _besides(self) -> list[int]:
        """GPUs for other programmes at once: none, the first by priority, the first two, and so on."""
        others = sorted(self.params.sharers(), key=lambda one: one.priority)
        return [sum(one.gpus for one in others[:count]) for count in range(len(others) + 1)]

    def held(self, gpus: int) -> Rounded:
        """GPUs, racks and spares for `gpus` at work at once."""
        machine, params = self.carrier.machine, self.params
        return rounded(
            gpus,
            params.spare_frac,
            self.carrier.unit,
            machine.rack_gpus,
            machine.domain_gpus,
            params.domain_group,
        )

    def working(self, units: int) -> int:
        """Working GPUs of so many racks (or nodes): without spares, whole nodes, whole groups of a domain."""
        machine = self.carrier.machine
        size = machine.rack_gpus or self.carrier.unit
        inside = min(machine.domain_gpus or size, size)
        most = size // inside * usable_in(inside, self.params.domain_group) * units
        kept = math.floor(units * size / (1 + self.params.spare_frac) + 1e-9)
        return min(most, kept) // self.carrier.unit * self.carrier.unit

    def counts(self) -> tuple[int, ...]:
        """Working GPUs to look at: some nodes, then whole racks one by one, then in steps of two fifths."""
        least, unit = self.carrier.least, self.carrier.unit
        most = max(self.params.most_gpus, self.params.gpus)
        found = {unit * times for times in FEW}
        units = 1.0
        while self.working(int(units)) <= most:
            found.add(self.working(int(units)))
            units = max(units + 1, units * RATIO)
        found |= {self.snapped(self.carrier.own_gpus), self.snapped(self.params.gpus or least)}
        return tuple(sorted(one for one in found if least <= one <= most))

    def snapped(self, gpus: int) -> int:
        """Whole nodes or trays for `gpus`; the source's own count as it is."""
        if gpus == self.carrier.own_gpus:
            return gpus
        return max(-(-gpus // self.carrier.unit) * self.carrier.unit, self.carrier.least)

    def smallest(self, wanted: float) -> Fleet | None:
        """Fewest held GPUs whose chance is at least `wanted`, of equals the fastest; None when no fleet's is.

        Between the counts of the curve it is searched on, each whole rack or node.
        """
        fleets = [self.fleet(gpus) for gpus in self.counts()]
        enough = [one for one in fleets if one.p_finish >= wanted]
        if not enough:
            return None
        best = min(enough, key=lambda one: (one.fleet_gpus, float(np.median(one.run_h))))
        size = self.carrier.machine.rack_gpus or self.carrier.unit
        below = [one.fleet_gpus for one in fleets if one.fleet_gpus < best.fleet_gpus]
        low, high = max(below, default=0) // size, best.fleet_gpus // size
        while high - low > 1:
            middle = (low + high) // 2
            gpus = self.working(middle)
            one = self.fleet(gpus) if gpus >= self.carrier.least else None
            if one is not None and one.p_finish >= wanted:
                best, high = one, middle
            else:
                low = middle
        return best

    def _evaluated(self, gpus: int, beside: int) -> Fleet:
        params, specs = self.params, self.params.specs()
        steps = {spec.name: self.carrier.on(gpus, spec).times(self.times) for spec in specs}
        held = replace(self.held(gpus + beside), gpus=float(gpus))
        campaigns = [campaign_of(spec, steps[spec.name], params) for spec in specs]
        running, every = self._running(gpus, held, campaigns)
        cycle = cycle_draws(campaigns, running, params.draws, params.seed + 21)
        run_h = np.asarray(cycle.total_s) / HOUR
        turns = self._turns(gpus, held, run_h)
        finish_h = turns[0].finish_s / HOUR
        unknown = bool(np.isnan(run_h).any())
        return Fleet(
            gpus=gpus,
            held=held,
            step_s=_weighted(specs, steps),
            run_h=run_h,
            finish_h=np.where(np.isnan(run_h), np.nan, finish_h),
            p_finish=math.nan if unknown else float((finish_h <= params.deadline_h).mean()),
            parts_h=_parts(cycle, steps, specs, turns[0]),
            goodput_frac=float(np.mean(cycle.goodput_frac)),
            goodput_ends=p10_p90(cycle.goodput_frac),
            every_steps=every,
            turns=turns,
            steps=steps,
            missing=tuple(dict.fromkeys(w for one in steps.values() for w in one.missing)),
            cautions=tuple(dict.fromkeys(w for one in steps.values() for w in one.cautions)),
        )

    def _running(self, gpus: int, held: Rounded, campaigns: Sequence[Campaign]) -> tuple[Running, int]:
        """What surrounds the steps on a fleet, and the steps between saves."""
        params, rate = self.params, failing(self.params, gpus)
        spare = (
            float(held.fleet_gpus) * (1 - 1 / (1 + params.spare_frac)) if params.share else held.spare_gpus
        )
        nodes = float(spare) // self.carrier.unit
        wait_h = float(spare_wait_h(rate.usual * rate.hardware_frac, params.repair_h, nodes))
        down_s = params.restart_min * 60 + rate.hardware_frac * wait_h * HOUR
        longest = max(campaigns, key=lambda one: one.steps * float(np.median(one.step_s)))
        mttf_s = HOUR / rate.usual if rate.usual else math.inf
        every = params.checkpoint_steps or best_every(
            float(np.median(longest.step_s)), params.checkpoint_s, down_s, mttf_s, longest.steps
        )
        return (
            Running(
                saving=Saving(float(every), params.checkpoint_s, down_s),
                mttf_s=self._lives_s(rate),
                launches=launches_of(params),
                maintenance_s=params.maintenance_h * HOUR,
                period_s=params.period_h * HOUR,
                goodput=params.goodput,
            ),
            every,
        )

    def _lives_s(self, rate: Failing) -> Floats | float:
        """Mean seconds to failure: draws over the published range, one number where the rate is given."""
        if not rate.usual:
            return math.inf
        if rate.low == rate.high:
            return HOUR / rate.usual
        return HOUR / money_draws(rate.usual, rate.low, rate.high, self.params.draws, self.params.seed + 31)

    def _turns(self, gpus: int, held: Rounded, run_h: Floats) -> tuple[Turn, ...]:
        params = self.params
        run_s = np.where(np.isnan(run_h), 0.0, run_h) * HOUR  # infinite: it never ends, and is never in time
        mine = Sharer(OWN_NAME, gpus, run_s, params.priority)
        if not params.share:
            return shared([mine], gpus)
        room = max(gpus, math.floor(float(held.fleet_gpus) / (1 + params.spare_frac) + 1e-9))
        others = []
        for at, one in enumerate(params.sharers()):
            rng = np.random.default_rng(params.seed + 41 + at)
            sigma = math.log(one.spread) / z_value(0.8)
            hours = one.hours * np.exp(sigma * rng.standard_normal(params.draws))
            others.append(Sharer(one.name, one.gpus, hours * HOUR, one.priority))
        return shared([mine, *others], room)


def launches_of(params: CadenceParams) -> Launches:
    """Start-ups, queue and longest job in seconds."""
    return Launches(
        cold_s=params.cold_start_min * 60,
        warm_s=params.warm_start_min * 60,
        queue_s=params.queue_min * 60,
        walltime_s=params.walltime_h * HOUR,
    )


def best_every(step_s: float, stall_s: float, down_s: float, mttf_s: float, most: int) -> int:
    """Steps between saves with the highest goodput; 1 where the step is not known."""
    return best_steps(step_s, stall_s, down_s, mttf_s, most) if math.isfinite(step_s) else 1


def campaign_of(spec: CampaignSpec, steps: StepDraws, params: CadenceParams) -> Campaign:
    """A campaign as models see it."""
    return Campaign(spec.steps, steps.step_s, spec.evals, params.eval_min * 60)


def _weighted(specs: Iterable[CampaignSpec], steps: Mapping[str, StepDraws]) -> Floats:
    """Mean step of the cycle (draws,): campaigns weighed by their steps."""
    chosen = list(specs)
    total = sum(spec.steps for spec in chosen)
    out: Floats = sum((spec.steps * steps[spec.name].step_s for spec in chosen), np.zeros(1)) / total
    return out


def ends_of_draws(hours: Floats) -> tuple[float, float, float]:
    """p10, p50, p90 of draws; NaN where one is not known, infinite where so many never end."""
    if np.isnan(hours).any():
        return math.nan, math.nan, math.nan
    low, middle, high = (float(v) for v in np.quantile(hours, (0.1, 0.5, 0.9), method="nearest"))
    return low, middle, high


def _parts(
    cycle: Cycle, steps: Mapping[str, StepDraws], specs: Iterable[CampaignSpec], turn: Turn
) -> Mapping[str, float]:
    """Mean hours by part of the draws from p10 to p90 of the cycle, for a few that hardly end would be all of
    a mean; the serial part of steps is out of the steps.
    """
    total = np.atleast_1d(np.asarray(cycle.total_s, dtype=np.float64))
    low, high = np.quantile(total, (0.1, 0.9), method="nearest")
    usual = (total >= low) & (total <= high) & np.isfinite(total)
    hours = {
        name: float(np.broadcast_to(value, total.shape)[usual].mean()) / HOUR if usual.any() else math.nan
        for name, value in cycle.parts().items()
    }
    serial = sum(spec.steps * steps[spec.name].serial_s for spec in specs) / HOUR
    serial = min(serial, hours["steps_s"])
    start = turn.start_s[np.isfinite(turn.start_s)]
    return {
        "steps that more GPUs shorten": hours["steps_s"] - serial,
        "steps that none shorten": serial,
        "evaluations": hours["evals_s"],
        "checkpoints": hours["saves_s"],
        "failures": hours["failures_s"],
        "start-ups and queue": hours["start_up_s"],
        "maintenance": hours["maintenance_s"],
        "waiting for others": float(start.mean()) / HOUR if start.size else math.inf,
    }
