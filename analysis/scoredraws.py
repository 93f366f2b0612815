"""Joint draws of several scores of one benchmark, and of what they cost: what is shared is drawn once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.frames import Row, text
from analysis.pairs import Passed, cluster_labels, one_side
from analysis.spend import Spend
from models.clustered import joint_means
from models.draws import money_draws
from models.gain_ratio import interval_draws
from models.stats import wilson

Floats = npt.NDArray[np.float64]
SIZE = 4000
LEAST_SHARED = 0.5
"""Share of the smallest evaluation's tasks that all must have to be drawn together on them."""


@dataclass(frozen=True)
class ScoreDraws:
    """`values`: (candidates,), `draws`: (candidates, draws), fractions; `shared_tasks`: tasks that those with
    task results were drawn on together, 0 where each was drawn alone; `alone`: places of those that were.
    """

    values: Floats
    draws: Floats
    shared_tasks: int
    alone: tuple[int, ...]


def score_draws(rows: Sequence[Row], by_eval: dict[str, Passed], seed: int, size: int = SIZE) -> ScoreDraws:
    """Draws of the true scores of `rows` (score, n, eval_ids), all of one benchmark and key.

    Those whose tasks are known are drawn together on the tasks they share, for tasks that are hard for one
    are hard for all; the others each from its Wilson interval.
    """
    values = np.array([row["score"] for row in rows], dtype=np.float64)
    draws = np.empty((len(rows), size))
    sides = [one_side(row["eval_ids"], by_eval) for row in rows]
    with_tasks = [place for place, side in enumerate(sides) if len(side) > 1]
    shared = _shared([sides[place] for place in with_tasks])
    together = with_tasks if shared else []
    if together:
        scores = np.array([[sides[place][task][1] for task in shared] for place in together])
        joint = joint_means(scores, cluster_labels(shared, [sides[place] for place in together]))
        values[together] = joint.values
        draws[together] = np.clip(joint.values[:, None] - joint.noise(size, seed), 0.0, 1.0)
    alone = tuple(place for place in range(len(rows)) if place not in set(together))
    for place in alone:
        found = wilson(rows[place]["score"] * rows[place]["n"], rows[place]["n"])
        draws[place] = np.clip(interval_draws(found, size, seed + 1000 + place), 0.0, 1.0)
    return ScoreDraws(values, draws, len(shared), alone)


def _shared(sides: Sequence[Passed]) -> list[str]:
    """Tasks that all sides have; none where they are too few of the smallest side, or it stands alone."""
    if len(sides) < 2:
        return []
    common = set(sides[0]).intersection(*sides[1:])
    return sorted(common) if len(common) >= max(2, LEAST_SHARED * min(len(s) for s in sides)) else []


def price_seeds(spend: Spend, seed: int) -> dict[str, int]:
    """A seed a run; runs paid at the same prices share theirs: a price that is wrong is wrong for both."""
    prices: dict[str, set[str]] = {}
    for row in spend.rows:
        prices.setdefault(row["run"], set()).add(text(row["price_id"]) or "")
    groups = {run: tuple(sorted(ids)) for run, ids in prices.items()}
    rank = {group: place for place, group in enumerate(sorted(set(groups.values())))}
    return {run: seed + 101 + rank[group] for run, group in groups.items()}


def cost_draws(row: Row, seed: int, size: int = SIZE) -> Floats:
    """Draws of one cost (usd, usd_low, usd_high), 90 % inside the quote range, shape (draws,)."""
    return money_draws(row["usd"], row["usd_low"], row["usd_high"], size, seed)
