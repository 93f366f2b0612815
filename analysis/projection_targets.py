"""Where a run may be projected to: platforms, GPUs that are held, and the factors of published pairs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.generations import ORDER
from analysis.pairfactors import SEEN, UNSEEN, PairFactor, pair_factor, step_fixed_share
from analysis.projection_params import ProjectionParams
from analysis.projection_run import SourceRun
from data.catalogue import Catalogue
from data.errors import UserError
from data.shapes import machine_of
from models.machine import Machine
from models.projection import Band, Target
from models.workload import Pool

MOST_DEFAULT = 6
VARIANTS = frozenset({"h20", "h800", "gh200", "h200-nvl", "b300-hgx", "rubin-ultra-nvl576"})
"""Platforms that are shown only when asked for: they double one that is shown, or publish too little."""


@dataclass(frozen=True)
class Aim:
    """A target as asked: platforms of engines and trainer, and the precision both compute at."""

    target: str
    engines: str
    trainer: str
    gen_precision: str
    train_precision: str

    @property
    def platforms(self) -> tuple[str, ...]:
        """Its platforms, each once."""
        return tuple(dict.fromkeys((self.engines, self.trainer)))

    def name(self, book: Catalogue) -> str:
        """Platforms as people call them: 'A', or 'A + B' for rollouts on A and training on B."""
        return platform_names(book, self.platforms)


def platform_names(book: Catalogue, ids: Iterable[str]) -> str:
    """Names of platforms, joined by +."""
    found = [(one, book.platform(one)) for one in ids]
    return " + ".join(p.name if p else one for one, p in found)


def aims(book: Catalogue, params: ProjectionParams, source: SourceRun) -> tuple[Aim, ...]:
    """Targets asked for, or the platforms of its vendor after the run's own in order of release.

    Raises UserError for a platform that the catalogue does not have.
    """
    gen, train = params.on_target
    own = tuple(pool.platform_id for pool in source.pools.each)
    asked = params.targets or _newer(book, own, params)
    out = []
    for target in asked:
        engines, _, trainer = target.partition("+")
        for one in (engines, trainer or engines):
            found = book.platform(one)
            if found is None or found.kind in ("service", "cpu"):
                names = ", ".join(p.platform_id for p in book.platforms() if p.kind != "cpu")
                raise UserError(
                    f"'{one}' is no platform with GPUs", "parameter targets", f"Use one of {names}."
                )
        out.append(Aim(target, engines, trainer or engines, gen, train))
    return tuple(out)


def _newer(book: Catalogue, own: Sequence[str], params: ProjectionParams) -> tuple[str, ...]:
    """Main platforms (no `VARIANTS`) of the run's vendor after its newest: the last ones that publish what a
    projection needs, and the newest one that does not. Where another precision is asked for, the run's own
    goes first.
    """
    places = [ORDER.index(one) for one in own if one in ORDER]
    vendors = {p.vendor for one in own if (p := book.platform(one)) is not None}
    after = [one for one in ORDER[max(places, default=-1) + 1 :] if _vendor(book, one) in vendors]
    after = [one for one in after if one not in VARIANTS]
    known = [one for one in after if not _lacking(book, one, params.on_target)][-MOST_DEFAULT:]
    unknown = [one for one in after if one not in known and machine_of(book, one).hbm_bytes_per_s is not None]
    unknown = [one for one in unknown if _lacking(book, one, params.on_target)][-1:]
    first = ["+".join(dict.fromkeys(own))] if params.changes_precision else []
    return (*first, *known, *unknown)


def _vendor(book: Catalogue, platform_id: str) -> str:
    found = book.platform(platform_id)
    return found.vendor if found is not None else ""


def _lacking(book: Catalogue, platform_id: str, precisions: Sequence[str]) -> bool:
    machine = machine_of(book, platform_id)
    needed = ("hbm_bytes_per_s", "hbm_bytes", "domain_gpus")
    return any(machine.missing(precision, *needed) for precision in precisions)


def release_rank(aim: Aim) -> int:
    """Place of the engines' platform in order of release; unknown ones last."""
    return ORDER.index(aim.engines) if aim.engines in ORDER else len(ORDER)


def unit_of(machine: Machine) -> int:
    """GPUs that are rented together: a node or tray, else a rack, else one."""
    return machine.node_gpus or machine.rack_gpus or 1


@dataclass(frozen=True)
class Count:
    """GPUs of both pools on a target, the same ones where `one_pool`; `missing`: why there is no number."""

    engines: int = 0
    trainer: int = 0
    one_pool: bool = False
    missing: str = ""

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return self.engines if self.one_pool else self.engines + self.trainer

    def usd_per_h(self, engines_usd: float, trainer_usd: float) -> float:
        """Dollars an hour at a price of a GPU-hour of each pool; NaN without it."""
        return self.engines * engines_usd + (0.0 if self.one_pool else self.trainer * trainer_usd)


def same_gpus(source: SourceRun, aim: Aim, book: Catalogue) -> Count:
    """As many GPUs as the run had, pool by pool. A single pool that is to be split between two platforms goes
    where the sum of both phases is least: in proportion to the square roots of their seconds.
    """
    engines, trainer = source.pools.engines, source.pools.trainer
    if engines is None or trainer is None or source.timed is None:
        raise ValueError(f"{source.run} has no pools")
    if engines is not trainer or aim.engines == aim.trainer:
        return Count(engines.gpus, trainer.gpus, engines is trainer)
    made = _mean_s(source, "rollout")
    used = _mean_s(source, "train") + _mean_s(source, "logprob")
    unit = max(unit_of(machine_of(book, one)) for one in aim.platforms)
    if engines.gpus < 2 * unit or not made + used > 0:
        return Count(missing=f"{engines.gpus} GPUs cannot be split between two platforms in units of {unit}")
    share = math.sqrt(made) / (math.sqrt(made) + math.sqrt(used))
    first = round(engines.gpus * share / unit) * unit
    first = min(max(first, unit), engines.gpus - unit)
    return Count(first, engines.gpus - first)


def _mean_s(source: SourceRun, phase: str) -> float:
    found = source.timed.phases.get(phase) if source.timed is not None else None
    return 0.0 if found is None else float(found.mean())


def same_budget(count: Count, usd_per_h: float, budget: float, book: Catalogue, aim: Aim) -> Count:
    """GPUs that `budget` dollars an hour rent where `count` of them cost `usd_per_h`: both pools in the same
    proportion, whole nodes or trays.
    """
    if not (usd_per_h > 0 and budget > 0):
        return Count(missing="equal dollars an hour need a price of both platforms")
    units = [unit_of(machine_of(book, one)) for one in (aim.engines, aim.trainer)]
    engines, trainer = (
        math.floor(gpus * budget / usd_per_h / unit + 1e-9) * unit
        for gpus, unit in zip((count.engines, count.trainer), units, strict=True)
    )
    if min(engines, trainer) < 1:
        return Count(missing=f"the dollars of the run rent less than {max(units)} GPUs of a pool")
    return Count(engines, trainer, count.one_pool)


@dataclass(frozen=True)
class Factors:
    """Factors of published pairs for one move, by phase."""

    decode: PairFactor
    training: PairFactor
    prefill: PairFactor
    step: PairFactor

    @property
    def basis(self) -> str:
        """The weaker basis of the phases."""
        parts = (self.decode, self.training)
        return SEEN if all(p.basis == SEEN for p in parts) else UNSEEN


def factors_of(
    book: Catalogue, source: SourceRun, aim: Aim, precisions: tuple[str, str], moe: bool | None
) -> Factors:
    """Factors from the run's platforms to those of `aim`, at the run's `precisions` (engines, trainer)."""
    pools = source.pools
    if pools.engines is None or pools.trainer is None:
        raise ValueError(f"{source.run} has no pools")
    a, b = pools.engines.platform_id, pools.trainer.platform_id
    return Factors(
        decode=pair_factor(book, "decode", a, aim.engines, precision=precisions[0], moe=moe),
        training=pair_factor(book, "training", b, aim.trainer, precision=precisions[1], moe=moe),
        prefill=pair_factor(book, "training", a, aim.engines, precision=precisions[0], moe=moe),
        step=pair_factor(book, "rl_step", a, aim.engines, precision=precisions[1], moe=moe),
    )


def target_of(book: Catalogue, aim: Aim, count: Count, found: Factors) -> Target:
    """What models.projection projects to."""
    return Target(
        engines=Pool(machine_of(book, aim.engines), count.engines, aim.gen_precision),
        trainer=Pool(machine_of(book, aim.trainer), count.trainer, aim.train_precision),
        decode=_band(found.decode),
        training=_band(found.training),
        prefill=_band(found.prefill),
        step=_band(found.step),
        basis=found.basis,
        fixed_frac=step_fixed_share(book),
    )


def _band(found: PairFactor) -> Band:
    return Band(found.factor, found.low, found.high)


def basis_words(found: PairFactor) -> str:
    """'published pairs: 19 of 5 models', or that no pair of the two platforms was published."""
    if found.platform_a == found.platform_b:
        return "same platform"
    if found.basis == SEEN:
        return f"{SEEN}: {found.pairs} of {found.models} models"
    return f"{UNSEEN}: no pair of these two was published"
