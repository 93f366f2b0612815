"""At which price of a GPU-hour a move pays, beside the quotes there are."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.frames import NAN, Row, table
from analysis.projection_money import Floats, Rent
from analysis.projection_seen import Base, Seen, joined, price_times, spread
from analysis.words import digits3, money
from data.catalogue import Catalogue
from models.breakeven import break_even_draws, verdict

NO_QUOTE = "no quote"
EVEN_NUMBERS = ["usd_per_gpu_h", "usd_per_gpu_h_low", "usd_per_gpu_h_high", "quote_usd_per_gpu_h"]
EVEN = ["target", "platform", *EVEN_NUMBERS, "quote_label", "quote_price_id", "quote_source", "verdict"]
EVEN += ["words"]


def breakeven_table(
    book: Catalogue, base: Base, seen: Sequence[Seen], rents: Mapping[str, Sequence[Rent]]
) -> pd.DataFrame:
    """EVEN: dollars a GPU-hour on a target at which a step costs what it costs now, beside each quote of
    `rents` (by target; empty: one row without a quote).
    """
    rows = []
    for one in seen:
        draws = even_draws(base, one)
        low, middle, high = spread(draws)
        head: Row = {"target": one.aim.target, "platform": one.aim.name(book)}
        head |= {"usd_per_gpu_h": middle, "usd_per_gpu_h_low": low, "usd_per_gpu_h_high": high}
        found = [rent for rent in rents.get(one.aim.target, ()) if not math.isnan(rent.usd)]
        rows += [_even_row(head, base, one, draws, rent) for rent in found or [one.rent]]
    return table(rows, EVEN, EVEN_NUMBERS)


def even_draws(base: Base, one: Seen) -> Floats:
    """Draws of the price of a GPU-hour on a target below which moving pays.

    (GPU dollars + judges and sandboxes) of a step are equal on both: p_b = (p_a G_a T_a + s (T_a - T_b)) /
    (G_b T_b).
    """
    source_s = base.source.step_s
    if not one.count.gpus or math.isnan(base.usd_per_h):
        return np.full(one.step_s.shape, NAN)
    gpu_s = one.count.gpus * one.step_s
    price = base.usd_per_h / base.source.gpus
    side = base.source.pools.side_usd_per_h * (source_s - one.step_s) / gpu_s
    out: Floats = break_even_draws(price, base.source.gpus * source_s, gpu_s) + side
    return out


def _even_row(head: Row, base: Base, one: Seen, draws: Floats, rent: Rent) -> Row:
    row = {**head, "quote_usd_per_gpu_h": rent.usd, "quote_label": rent.label}
    row |= {"quote_price_id": rent.price_id, "quote_source": rent.source}
    if np.isnan(one.step_s).any():
        return row | {"verdict": "cannot tell", "words": joined(*one.missing)}
    if np.isnan(draws).any():
        times = price_times(base, one)
        words = (
            f"The run's own GPUs have no price here ({base.rent.missing or 'no price'}): moving pays while a "
            f"GPU-hour costs less than {digits3(times[1])} of its own ({digits3(times[0])} to "
            f"{digits3(times[2])})."
        )
        return row | {"verdict": "cannot tell", "words": words}
    middle, low, high = (money(head[name]) for name in EVEN_NUMBERS[:3])
    even = f"Moving pays below {middle} a GPU-hour ({low} to {high})"
    if math.isnan(rent.usd):
        return row | {"verdict": NO_QUOTE, "words": joined(even, rent.missing)}
    found = verdict(draws, rent.usd)
    words = (
        f"{even}; at {money(rent.usd)} ({rent.label}) it pays in {100 * found.pays_frac:.0f} % of the draws."
    )
    return row | {"verdict": found.words, "words": words}
