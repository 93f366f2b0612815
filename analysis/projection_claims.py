"""Claims tried on a projection: each target as a step of phases, and the run on a claim's baseline."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.claimparts import REWARD, About, Aimed
from analysis.claims import COLUMNS, claim_rows
from analysis.projection_model import Asked, placed_target
from analysis.projection_seen import Seen
from analysis.projection_targets import Aim, Count, factors_of
from analysis.result import Notice
from models.claims import Step
from models.projection import Projection, composed, project
from models.shapes import Num


def claims_table(asked: Asked, seen: Sequence[Seen]) -> tuple[pd.DataFrame, tuple[Notice, ...]]:
    """A row a claim and target; none without claims, or where only whole steps are projected."""
    model, params = asked.model, asked.params
    if not params.claims:
        return pd.DataFrame(columns=list(COLUMNS)), ()
    if model is None:
        words = "Claims speak of phases, and this run is projected as a whole step: none is tried."
        return pd.DataFrame(columns=list(COLUMNS)), (Notice("claims_need_phases", words, asked.source.run),)
    aimed = [_aimed(asked, one) for one in seen if not np.isnan(one.step_s).any()]
    pools = asked.source.pools
    source = "" if pools.engines is None else pools.engines.platform_id
    about = About(model.workload.llm, model.workload.mode, source, pools.sandbox)
    used = {p for one in seen for p in one.aim.platforms} | {p.platform_id for p in asked.book.platforms()}
    prices = {name: asked.rents.of(name).usd for name in sorted(used)}
    known = {name: usd if usd == usd else None for name, usd in prices.items()}
    return claim_rows(
        asked.book, params.claims, aimed, lambda one, name: _baseline(asked, one, name), about, known
    )


def _aimed(asked: Asked, one: Seen) -> Aimed:
    aim, count = one.aim, one.count
    step = _step(asked, one.phases)
    return Aimed(
        aim.target, aim.engines, aim.trainer, count.engines, count.trainer, aim.gen_precision,
        aim.train_precision, step,
    )  # fmt: skip


def _step(asked: Asked, phases: Mapping[str, Num]) -> Step:
    """Phases with the composition of the run's mode, overlap of its timers kept; rewards apart from the
    environments, because no log says that they are sandbox work.
    """
    model = asked.model
    if model is None:
        raise ValueError("a step of phases needs a model of the run")
    mode, lag, overlap = model.workload.mode, model.workload.lag, model.calibration.overlap
    told = asked.source.timed
    frac = 1.0 if told is None else told.sandbox_frac
    apart = {**phases, "env": phases["env"] * frac, REWARD: phases["env"] * (1 - frac)}

    def compose(seconds: Mapping[str, Num]) -> Num:
        return composed({**seconds, "env": seconds["env"] + seconds[REWARD]}, mode, lag) * overlap

    return Step(apart, compose)


def _baseline(asked: Asked, aimed: Aimed, platform_id: str) -> Step | None:
    """The same run with the same GPUs and precisions on `platform_id`; None when it cannot be projected."""
    model = asked.model
    if model is None or asked.book.platform(platform_id) is None:
        return None
    aim = Aim(platform_id, platform_id, platform_id, aimed.gen_precision, aimed.train_precision)
    one_pool = asked.source.pools.engines is asked.source.pools.trainer and aimed.engines == aimed.trainer
    count = Count(aimed.engine_gpus, aimed.trainer_gpus, one_pool)
    factors = factors_of(asked.book, asked.source, aim, asked.params.on_source, asked.is_moe)
    target = placed_target(asked, aim, count, factors)
    drawn: Projection = project(
        model.workload, model.measured, model.calibration, [target], asked.params.draws, asked.params.seed
    )
    if np.isnan(drawn.step_s).any():
        return None
    return _step(asked, {name: values[:, 0] for name, values in drawn.phases.items()})
