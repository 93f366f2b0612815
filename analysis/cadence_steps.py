"""Seconds of a step of each campaign on any count of GPUs of a platform, as draws."""

import functools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.cadence_params import CadenceParams, CampaignSpec
from analysis.cadence_source import Source, own_pools
from analysis.projection_belief import stretched
from analysis.projection_model import placed_target
from analysis.projection_money import Floats
from analysis.projection_targets import Aim, Count, Factors, factors_of, target_of, unit_of
from analysis.projection_unknown import unknown_words
from analysis.projection_whole import whole_draws, whole_ratio
from data.errors import UserError
from data.operations import operation
from data.shapes import llm_of, machine_of
from models.cadence import StepLaw, grown_s, growth_of, spans_domains
from models.longer import longer_decode, longer_training
from models.machine import Machine
from models.projection import Projection, composed, project
from models.stats import z_value
from models.train_placement import train_placement
from models.workload import Pool

DOMAIN_FACT = "nvlink_domain_placement_gain"
SERIAL = ("rollout_tail", "weight_sync", "env", "other", "unattributed")
OWN, CARRIED = "own", "projected"


@dataclass(frozen=True)
class StepDraws:
    """Mean seconds of a step over a campaign (draws,), and the part of it (mean) that no GPU shortens."""

    step_s: Floats
    serial_s: float
    missing: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def times(self, factor: float) -> "StepDraws":
        """The same step, `factor` times as long."""
        if factor == 1:
            return self
        return replace(self, step_s=self.step_s * factor, serial_s=self.serial_s * factor)


@dataclass(frozen=True)
class _Moved:
    """A step on one count of GPUs: the projection where phases are known, else draws of the whole step."""

    drawn: Projection | None
    step_s: Floats
    factor: Floats
    serial_s: float
    missing: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Carrier:
    """A source on one platform: counts are carried once and remembered, campaigns follow from phases."""

    source: Source
    params: CadenceParams
    aim: Aim
    growth_s: float
    law: StepLaw | None
    known: dict[int, _Moved] = field(default_factory=dict)

    @functools.cached_property
    def machine(self) -> Machine:
        """The platform."""
        return machine_of(self.source.asked.book, self.aim.engines)

    @property
    def unit(self) -> int:
        """GPUs that come together."""
        return unit_of(self.machine)

    @functools.cached_property
    def own(self) -> bool:
        """True on the source's own platform at its own precision."""
        engines, trainer = own_pools(self.source)
        target = target_of(self.source.asked.book, self.aim, self.count(self.own_gpus), self.factors)
        return (target.engines.machine, target.trainer.machine) == (engines.machine, trainer.machine) and (
            target.engines.precision,
            target.trainer.precision,
        ) == (engines.precision, trainer.precision)

    @functools.cached_property
    def own_gpus(self) -> int:
        """GPUs of the source."""
        return self.source.run.gpus

    @functools.cached_property
    def factors(self) -> Factors:
        """Factors of published pairs from the source's platform to this one."""
        asked = self.source.asked
        return factors_of(asked.book, self.source.run, self.aim, asked.params.on_source, asked.is_moe)

    @property
    def least(self) -> int:
        """Fewest GPUs that hold a pool of each kind."""
        return self.unit if self.one_pool else 2 * self.unit

    @property
    def one_pool(self) -> bool:
        """True where one pool does both."""
        return self.source.run.pools.engines is self.source.run.pools.trainer

    def count(self, gpus: int) -> Count:
        """Both pools in the source's proportion, in whole units; the same GPUs where one pool does both."""
        pools = self.source.run.pools
        if pools.engines is None or pools.trainer is None:
            raise ValueError(f"{self.source.run.run} has no pools")
        if self.one_pool:
            return Count(gpus, gpus, one_pool=True)
        if gpus == self.own_gpus:
            return Count(pools.engines.gpus, pools.trainer.gpus)
        units = gpus // self.unit
        share = pools.engines.gpus / (pools.engines.gpus + pools.trainer.gpus)
        made = min(max(round(units * share), 1), units - 1)
        return Count(made * self.unit, (units - made) * self.unit)

    def on(self, gpus: int, spec: CampaignSpec) -> StepDraws:
        """Draws of a campaign's step on `gpus` GPUs; NaN draws and a sentence where it cannot be carried."""
        if gpus not in self.known:
            self.known[gpus] = self._carried(gpus)
        moved = self.known[gpus]
        lengths = [spec.length * times for times in (1.0, (1 + spec.growth) / 2, spec.growth)]
        if spec.growth == 1:
            step_s = self._at(moved, gpus, spec, lengths[0])
        else:
            step_s = np.asarray(grown_s(*(self._at(moved, gpus, spec, one) for one in lengths)))
        if spec.step_s:
            step_s = step_s * (spec.step_s / self.source.step_s)
        step_s = step_s + spec.tool_s + self.growth_s * max(gpus / self.own_gpus - 1, 0.0)
        serial = moved.serial_s + spec.tool_s
        return StepDraws(step_s, serial, moved.missing, moved.cautions)

    def _at(self, moved: _Moved, gpus: int, spec: CampaignSpec, times: float) -> Floats:
        """Draws of a step whose responses are `times` as long as the source's."""
        spans = self._domain_times()
        if moved.drawn is None or self.source.asked.model is None:
            return moved.step_s * (times * spec.rollouts * spans)
        if times == 1 and spec.rollouts == 1 and spans == 1:
            return moved.step_s
        work = self.source.asked.model.workload
        at, drawn = moved.drawn.operating[0], moved.drawn
        if at is None:
            return np.full_like(moved.step_s, np.nan)
        engines = Pool(self.machine, self.count(gpus).engines, self.aim.gen_precision)
        decode, tail = longer_decode(work, engines, at, times)
        trained = longer_training(work, times) * spec.rollouts * spans
        scale = {"rollout_work": decode * spec.rollouts, "rollout_tail": tail, "prefill": spec.rollouts}
        scale |= {"logprob": trained, "train": trained}
        seconds = {name: values[:, 0] * scale.get(name, 1.0) for name, values in drawn.phases.items()}
        return composed(seconds, drawn.mode, drawn.lag) * drawn.overlap * moved.factor

    def _domain_times(self) -> float:
        """What a group of GPUs costs that spans link domains here and did not on the source."""
        group, here = self.params.domain_group, self.machine.domain_gpus
        there = own_pools(self.source)[1].machine.domain_gpus
        if not spans_domains(group, here) or spans_domains(group, there):
            return 1.0
        return operation(DOMAIN_FACT).value

    def _carried(self, gpus: int) -> _Moved:
        return self._by_phases(gpus) if self.source.phased else self._by_law(gpus)

    def _by_phases(self, gpus: int) -> _Moved:
        asked, params = self.source.asked, self.params
        model = asked.model
        if model is None:
            raise ValueError("no phases to carry")
        target = placed_target(asked, self.aim, self.count(gpus), self.factors)
        if params.second_gpus:
            target = replace(target, fixed_frac=0.0)
        drawn = project(
            model.workload, model.measured, model.calibration, [target], params.draws, params.seed
        )
        step_s = drawn.step_s[:, 0]
        factor = np.ones_like(step_s)
        if drawn.same[0]:
            factor = self._repeated(model.measured.mean_sigma("step_s"))
        elif self.source.scratch is None:
            fixed = self.source.published_fixed if gpus >= self.own_gpus else 0.0  # no gift to fewer
            ratio = whole_ratio(*own_pools(self.source), target, fixed)
            sigma = model.measured.mean_sigma("step_s")
            whole_s = whole_draws(self.source.step_s, sigma, ratio, target.step, params.draws, params.seed)
            factor = stretched(step_s, whole_s) / step_s
        factor = factor * self._guessed()
        serial = sum(float(drawn.exposed[name][:, 0].mean()) for name in SERIAL)
        return _Moved(
            drawn,
            step_s * factor,
            factor,
            serial,
            unknown_words(asked.book, drawn.unknown[0]),
            drawn.cautions[0],
        )

    def _by_law(self, gpus: int) -> _Moved:
        """The whole step on as many GPUs of this platform as the source's, then along the law of counts."""
        if self.law is None:
            raise ValueError("no law of counts")
        asked, params = self.source.asked, self.params
        target = target_of(asked.book, self.aim, self.count(self.own_gpus), self.factors)
        ratio = whole_ratio(*own_pools(self.source), target, self.source.published_fixed)
        step_s = whole_draws(
            self.source.step_s, self.source.sigma, ratio, target.step, params.draws, params.seed
        )
        if self.own:
            step_s = step_s * self._repeated(0.0)
        times = float(self.law.step_s(gpus)) / float(self.law.step_s(self.own_gpus))
        if params.serial_frac is None and not params.second_gpus:  # published for more GPUs: no gift to fewer
            times = max(times, self.own_gpus / gpus) if gpus < self.own_gpus else times
        missing = () if math.isfinite(ratio) else ("a peak or a published pair of whole steps is missing",)
        if lacks := self._lacks_memory(gpus):
            step_s, missing = np.full_like(step_s, np.nan), (*missing, lacks)
        serial = float(self.law.serial_s) * ratio
        return _Moved(None, step_s * times, np.ones_like(step_s), serial, missing, ())

    def _lacks_memory(self, gpus: int) -> str:
        """Why training does not fit `gpus` GPUs, '' where it does or nobody knows.

        States of a known model where they fit the source by the model; else at least the source's bytes.
        """
        own, book = own_pools(self.source)[1], self.source.asked.book
        pool = Pool(self.machine, self.count(gpus).trainer, self.aim.train_precision)
        name, llm = self.aim.name(book), self.source.run.llm
        if llm and book.llm(llm) is not None:
            shape = llm_of(book, llm)
            if train_placement(shape, own.machine, own.gpus, 0.0).best is not None:
                there = train_placement(shape, pool.machine, pool.gpus, 0.0)
                fits = there.best is not None or bool(there.unknown)
                return "" if fits else f"training states of {llm} do not fit {pool.gpus} {name}"
        held = [(one.machine.hbm_bytes or math.nan) * one.gpus for one in (own, pool)]
        if held[1] < held[0]:
            return f"{pool.gpus} {name} hold less than the source, and what its training needs is not known"
        return ""

    def _repeated(self, sigma: float) -> Floats:
        """Factor (draws,) of one cycle to the next on the same GPUs."""
        own = -math.log(1 - self.params.repeat_frac) / z_value(0.8)
        return self._normal(11, math.hypot(own, sigma))

    def _guessed(self) -> Floats | float:
        """Factor (draws,) of phases that nobody measured, the same on every platform and count."""
        return self._normal(12, self.source.sigma) if self.source.scratch is not None else 1.0

    def _normal(self, salt: int, sigma: float) -> Floats:
        rng = np.random.default_rng(self.params.seed + salt)
        drawn: Floats = np.exp(sigma * rng.standard_normal(self.params.draws))
        return drawn


@dataclass(frozen=True)
class Scaling:
    """How a step follows the count of GPUs: the law of a whole step (None where phases are known), seconds of
    growth (in the law where there is one), the efficiency between two measured sizes (NaN: not measured).
    """

    law: StepLaw | None
    growth_s: float
    efficiency_frac: float
    words: str


def scaling_of(source: Source, params: CadenceParams, aim: Aim) -> Scaling:
    """Scaling on the source's own platform, `aim`; a second measured size fixes what one size cannot."""
    gpus, step_s = source.run.gpus, source.step_s
    if 0 < params.second_gpus <= gpus:
        raise UserError(
            f"A second size of {params.second_gpus} GPUs is not above the first of {gpus}",
            "parameter second_gpus",
            "Name the larger of the two sizes; the source is the smaller one.",
        )
    times = params.second_gpus / gpus if params.second_gpus else math.nan
    efficiency = step_s / (times * params.second_step_s) if params.second_gpus else math.nan
    if source.phased:
        if not params.second_gpus:
            fixed = source.published_fixed
            return Scaling(None, 0.0, efficiency, f"{fixed:.0%} of a step kept in published pairs")
        carrier = Carrier(source, params, aim, 0.0, None)
        expected = float(np.median(carrier.on(params.second_gpus, plain_spec()).step_s))
        growth = growth_of(expected, params.second_step_s, times)
        return Scaling(None, max(growth, 0.0), efficiency, _growth_words(growth))
    return _whole_scaling(source, params, times, efficiency)


def _whole_scaling(source: Source, params: CadenceParams, times: float, efficiency: float) -> Scaling:
    gpus, step_s, told = source.run.gpus, source.step_s, source.serial_frac
    if not params.second_gpus:
        share = source.published_fixed if told is None else told
        law = StepLaw(gpus, share * step_s, (1 - share) * step_s)
        words = "published pairs" if told is None else "your setting"
        return Scaling(law, 0.0, efficiency, f"{share:.0%} of a step stays with more GPUs: {words}")
    if told is None:
        serial = (params.second_step_s - step_s / times) / (1 - 1 / times)
        if 0 <= serial <= step_s:
            law = StepLaw(gpus, serial, step_s - serial)
            return Scaling(law, 0.0, efficiency, f"{serial / step_s:.0%} of a step stays, by the two sizes")
    share = told or 0.0
    growth = growth_of(step_s * (share + (1 - share) / times), params.second_step_s, times)
    law = StepLaw(gpus, share * step_s, (1 - share) * step_s, max(growth, 0.0))
    return Scaling(law, 0.0, efficiency, _growth_words(growth))


def _growth_words(growth_s: float) -> str:
    if growth_s < 0:
        return "the second size was faster than even scaling of what is not serial: no growth is taken"
    return f"{growth_s:.3g} s of a step grow with each doubling of the first size, by the two sizes"


def plain_spec() -> CampaignSpec:
    """A step as the source takes it."""
    return CampaignSpec("", 1, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
