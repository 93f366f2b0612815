"""What questions about capacity share: where a number comes from, its range, draws, which inputs matter."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from analysis.candidates import candidates
from analysis.frames import Row, table
from analysis.own_cost import spread
from analysis.own_inputs import YOURS, Setting
from analysis.params import CommonParams
from analysis.prices import price_name, source_words, split_price
from analysis.projection_run import SourceRun, read_run
from analysis.result import Assumption, Notice
from analysis.spend import synthetic_notice
from data.catalogue import Catalogue
from data.errors import UserError
from data.view import View
from models.stats import wilson

Floats = npt.NDArray[np.float64]
SETTINGS = ["name", "label", "value", "low", "high", "unit", "status", "source", "date", "note"]
TORNADO = [
    "param", "label", "unit", "low", "value", "high", "at_low", "at_value", "at_high", "outcome",
    "outcome_unit", "status", "source",
]  # fmt: skip
MOST_INPUTS = 5
DRAWS = 400
SCRATCH = "Or set basis to scratch and give the numbers yourself."


class PlanParams(CommonParams):
    """`basis`: a measured run or published defaults. `run`: '' for the first picked one that can.

    `platform`: '' for the run's. `usd_per_gpu_h` replaces the picker's price. `range_frac`: width of the
    range of what you gave and of what was only derived.
    """

    basis: Literal["run", "scratch"] = "run"
    run: str = ""
    platform: str = ""
    usd_per_gpu_h: Annotated[float | None, Field(ge=0.01, le=1000)] = None
    range_frac: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    seed: int = 20260301


def setting(name: str, label: str, value: float | None, unit: str, **more: Any) -> Setting:
    """A number with its source; `status` measured, derived, user, a badge of the catalogue, or unsourced."""
    low, high = more.pop("low", None), more.pop("high", None)
    told = {"status": "derived", "source": "", "date": "", "note": "", **more}
    return Setting(name, label, value, low, high, unit, **told, published_range=low is not None)


def measured(name: str, label: str, values: Floats, unit: str, run: str, times: float = 1.0) -> Setting:
    """Mean over steps, with the p10 and p90 of that mean (normal)."""
    kept = values[np.isfinite(values)] * times
    middle, wide = float(kept.mean()), 1.2816 * float(kept.std()) / math.sqrt(max(kept.size, 1))
    source = f"{run}, mean of {kept.size} steps"
    ends = {"low": max(middle - wide, 0.0), "high": middle + wide}
    return setting(name, label, middle, unit, status="measured", source=source, **ends)


def resolved(params: PlanParams, found: Iterable[Setting]) -> dict[str, Setting]:
    """Every setting by name: yours where given; what was derived or given has a range of `range_frac`."""
    return {one.name: _ranged(_yours(params, one), params.range_frac) for one in found}


def _yours(params: PlanParams, one: Setting) -> Setting:
    value = getattr(params, one.name, None)
    if value is None:
        return one
    return replace(one, value=float(value), low=None, high=None, status="user", source=YOURS, date="")


def _ranged(one: Setting, range_frac: float) -> Setting:
    if one.value is None or one.low is not None or one.status not in ("user", "derived"):
        return one
    if one.unit in ("GPUs", "updates", "cores a GPU") or "exact" in one.note:
        return one
    low, high = one.value * (1 - range_frac), one.value * (1 + range_frac)
    return replace(one, low=low, high=min(high, 1.0) if one.unit == "fraction" else high)


def settings_table(found: Mapping[str, Setting]) -> pd.DataFrame:
    """One row a setting, columns SETTINGS."""
    return table([vars(one) for one in found.values()], SETTINGS, ["value", "low", "high"])


def values_of(found: Mapping[str, Setting]) -> dict[str, float]:
    """Value of every setting, NaN where nobody gave one."""
    return {name: math.nan if one.value is None else float(one.value) for name, one in found.items()}


def draw(found: Mapping[str, Setting], size: int, seed: int) -> dict[str, Any]:
    """Joint draws (size,) of everything that has a range, each on its own; the rest stays a number."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = values_of(found)
    for name in sorted(found):
        one = found[name]
        if one.value is not None and one.low is not None and one.high is not None and one.low < one.high:
            out[name] = spread(rng, one, size)
    return out


def p10_p90(values: npt.ArrayLike) -> tuple[float | None, float | None]:
    """Ends between which eight of ten draws lie; None where a draw has no value."""
    drawn = np.asarray(values, dtype=np.float64)
    if not np.isfinite(drawn).all():
        return None, None
    low, high = np.percentile(drawn, [10, 90])
    return float(low), float(high)


def chance_of_draws(share: float | None, n: int) -> dict[str, Any]:
    """Interval and n of a share of n draws as a figure takes them; nothing where it is not known."""
    if share is None or math.isnan(share):
        return {}
    found = wilson(share * n, n)
    return {"low": found.low, "high": found.high, "interval": "ci95", "n": n}


def tornado(
    found: Mapping[str, Setting],
    answer: Callable[[dict[str, float]], float],
    outcome: str,
    unit: str,
    leave: Sequence[str] = (),
) -> pd.DataFrame:
    """The inputs that move `answer` most, each alone at its low and its high; largest swing first."""
    base = values_of(found)
    at_value = answer(base)
    rows: list[Row] = []
    for name, one in found.items():
        if name in leave or one.value is None or one.low is None or one.high is None or one.low == one.high:
            continue
        ends = [answer({**base, name: end}) for end in (one.low, one.high)]
        rows.append(
            {"param": name, "label": one.label, "unit": one.unit, "low": one.low, "value": one.value,
             "high": one.high, "at_low": ends[0], "at_value": at_value, "at_high": ends[1],
             "outcome": outcome, "outcome_unit": unit, "status": one.status, "source": one.source}
        )  # fmt: skip
    rows = [row for row in rows if _swing(row) > 1e-9 * abs(at_value)]
    rows.sort(key=lambda row: (-_swing(row), row["param"]))
    return table(rows[:MOST_INPUTS], TORNADO, [*TORNADO[3:9]])


def _swing(row: Row) -> float:
    ends = [row["at_low"], row["at_high"], row["at_value"]]
    return max(ends) - min(ends) if all(math.isfinite(end) for end in ends) else 0.0


def assumed(found: Mapping[str, Setting]) -> list[Assumption]:
    """Settings that were not measured, as the assumptions of a result."""
    told = [one.assumption() for one in found.values() if one.status != "measured"]
    return [one for one in told if one is not None]


def gpu_price(book: Catalogue, params: PlanParams, platform_id: str) -> tuple[Setting, str, str]:
    """Price of a GPU-hour with its range of quotes, its id, and what is missing ('' when there is one)."""
    name = platform_name(book, platform_id)
    label, unit = f"GPU-hour on {name}", "USD per GPU-hour"
    if params.usd_per_gpu_h is not None:
        return setting("usd_per_gpu_h", label, None, unit), "", ""
    choice = book.price(platform_id, *split_price(params.price))
    if choice is None:
        why = book.why_no_price(platform_id, *split_price(params.price))
        return setting("usd_per_gpu_h", label, None, unit, status="unsourced"), "", why
    low, high = min(choice.low, choice.usd_per_gpu_h), max(choice.high, choice.usd_per_gpu_h)
    found = setting(
        "usd_per_gpu_h", label, choice.usd_per_gpu_h, unit, low=low, high=high, status=choice.status,
        source=f"{price_name(choice)}: {source_words(choice)}", date=choice.as_of or "",
    )  # fmt: skip
    return found, choice.price_id, ""


def platform_name(book: Catalogue, platform_id: str) -> str:
    """Name of a platform of the catalogue; UserError with the known ones when there is none."""
    platform = book.platform(platform_id)
    if platform is None:
        known = ", ".join(p.platform_id for p in book.platforms())
        raise UserError(f"'{platform_id}' is no platform", "parameter platform", f"Use one of {known}.")
    return platform.name


@dataclass(frozen=True)
class Chosen:
    """The run that a plan starts from; `blocked`: why no run can, in words; `tried` and not taken."""

    source: SourceRun | None
    blocked: str = ""
    tried: str = ""
    notices: tuple[Notice, ...] = ()


def choose(view: View, params: PlanParams, lacking: Callable[[SourceRun], str]) -> Chosen:
    """The asked run, else the first picked one of which `lacking` says ''. Raises UserError if unknown."""
    names = candidates(view, params, params.run)
    first: Chosen | None = None
    for name in names:
        source = read_run(view, name, params.price)
        why = source.blocked or lacking(source)
        told = tuple(synthetic_notice([name] if source.synthetic else []))
        if not why:
            return Chosen(source, notices=(*told, *source.notices))
        first = first or Chosen(None, f"{why.rstrip('.')}. {SCRATCH}", name, told)
    return first or Chosen(None)


def own_platform(params: PlanParams, measured_on: str, run: str) -> str:
    """Platform of the run. Raises UserError for another one: its seconds would be those of this one."""
    if params.platform and params.platform != measured_on:
        raise UserError(
            f"The seconds of {run} were measured on {measured_on}, not on {params.platform}",
            "parameter platform",
            "Leave it empty here; the question projection carries a run to other platforms.",
        )
    return measured_on
