"""Tables of a projection: platforms, phases, calibration, drivers, whole step. Unknown is NaN."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.frames import NAN, Row, table
from analysis.projection_money import Floats, usd_per_step
from analysis.projection_run import SourceRun
from analysis.projection_seen import Base, Seen, joined, spread, spread_row
from analysis.projection_targets import Factors, basis_words, platform_names
from data.catalogue import Catalogue
from data.shapes import machine_of
from models.calibration import Calibration
from models.gpu_count import GpuCount
from models.projection import PHASES, SCALES_WITH

MEASURED, PROJECTED = "measured", "projected"
ENDS = ("", "_low", "_high")
_TEXTS = ("target", "platform", "family", "kind", "basis")
_SPREAD = (
    "tokens_per_s_per_gpu",
    "usd_per_step",
    "usd_per_rollout",
    "usd_per_point",
    "gpus_same_cycle",
    "speedup",
)
PLATFORM_NUMBERS = ["gpus", "racks", "rack_gpus", "usd_per_gpu_h"]
PLATFORM_NUMBERS += [f"{name}{end}" for name in ("step_s", *_SPREAD) for end in ENDS]
PLATFORMS = [*_TEXTS, *PLATFORM_NUMBERS, "price_id", "verdict", "missing", "synthetic"]
PHASE_NUMBERS = ["seconds", "seconds_low", "seconds_high"]
PHASE_COLUMNS = ["target", "platform", "kind", "phase", *PHASE_NUMBERS, "exposed", "scales_with", "basis"]
CALIBRATION = ["phase", "name", "factor", "low", "high", "unit", "n_steps", "identified", "basis", "words"]
DRIVERS = ["target", "phase", "variance_frac", "seconds_frac"]
WHOLE_NUMBERS = ["step_s", "low", "high", "ratio", "phases_s", "phases_low", "phases_high"]
WHOLE = ["target", *WHOLE_NUMBERS, "apart", "cause"]
GAPS = ["run", "kind", "what", "remedy"]


def platforms_table(book: Catalogue, base: Base, seen: Sequence[Seen], even: pd.DataFrame) -> pd.DataFrame:
    """PLATFORMS: the run as measured, then each target; rows in the order given."""
    first = even.drop_duplicates("target")  # the quote in use stands first
    verdicts = dict(zip(first["target"], first["verdict"], strict=True))
    rows = [_measured_row(book, base)]
    rows += [_projected_row(book, base, one, str(verdicts.get(one.aim.target, ""))) for one in seen]
    return table(rows, PLATFORMS, PLATFORM_NUMBERS).astype({"synthetic": bool})


def _measured_row(book: Catalogue, base: Base) -> Row:
    source = base.source
    ids = tuple(dict.fromkeys(pool.platform_id for pool in source.pools.each))
    row: Row = {"target": base.target, "platform": platform_names(book, ids), "family": _family(book, ids)}
    row |= {"kind": MEASURED, "basis": MEASURED, "gpus": source.gpus, "verdict": ""}
    row |= _racks(book, [(p.platform_id, p.gpus) for p in source.pools.each])
    row |= _money(base, base.step_s, source.gpus, base.usd_per_h)
    row |= {f"speedup{end}": 1.0 for end in ENDS}
    row |= {f"gpus_same_cycle{end}": float(source.gpus) for end in ENDS}
    row |= {"usd_per_gpu_h": base.rent.usd, "price_id": base.rent.price_id, "synthetic": source.synthetic}
    return row | {"missing": joined(base.rent.missing, base.point.missing)}


def _projected_row(book: Catalogue, base: Base, one: Seen, judged: str) -> Row:
    aim, count = one.aim, one.count
    row: Row = {"target": aim.target, "platform": aim.name(book), "family": _family(book, aim.platforms)}
    row |= {"kind": PROJECTED, "basis": one.factors.basis, "gpus": count.gpus or NAN, "verdict": judged}
    pools = [(aim.engines, count.engines)] + ([] if count.one_pool else [(aim.trainer, count.trainer)])
    row |= _racks(book, pools)
    row |= _money(base, one.step_s, count.gpus, one.usd_per_h)
    if one.apart:  # of the product with skewed draws the median would move: the ends are those of each model
        both = [_per_point(base, draws, one.usd_per_h) for draws in (one.phases_step_s, one.whole_step_s)]
        row |= {"usd_per_point": both[0][1]}
        row |= {"usd_per_point_low": min(b[0] for b in both), "usd_per_point_high": max(b[2] for b in both)}
    row |= spread_row("speedup", base.source.step_s / one.step_s)
    row |= _cycle(one.cycle)
    row |= {"usd_per_gpu_h": one.rent.usd, "price_id": one.rent.price_id, "synthetic": base.source.synthetic}
    known_step = not np.isnan(one.step_s).any()
    return row | {"missing": joined(*one.missing, one.rent.missing if known_step else "")}


def _family(book: Catalogue, ids: Sequence[str]) -> str:
    found = [book.platform(one) for one in ids]
    return " + ".join(dict.fromkeys(p.family for p in found if p is not None))


def _racks(book: Catalogue, pools: Sequence[tuple[str, int]]) -> Row:
    """Whole racks where a platform is built in racks; NaN where one of the pools is not."""
    by_platform: dict[str, int] = {}
    for platform_id, gpus in pools:
        by_platform[platform_id] = by_platform.get(platform_id, 0) + gpus
    sizes = [machine_of(book, one).rack_gpus for one in by_platform]
    if not all(sizes) or not all(by_platform.values()):
        return {"racks": NAN, "rack_gpus": float(sizes[0]) if len(sizes) == 1 and sizes[0] else NAN}
    racks = sum(math.ceil(gpus / (size or 1)) for gpus, size in zip(by_platform.values(), sizes, strict=True))
    return {"racks": float(racks), "rack_gpus": float(sizes[0] or 0) if len(sizes) == 1 else NAN}


def _money(base: Base, step_s: Floats, gpus: int, usd_per_h: float) -> Row:
    tokens, side = base.source.tokens, base.source.pools.side_usd_per_h
    usd = usd_per_step(usd_per_h, side, step_s)
    row = spread_row("step_s", step_s) | spread_row("usd_per_step", usd)
    both, rollouts = (tokens.both, tokens.rollouts) if tokens is not None else (NAN, NAN)
    row |= spread_row("tokens_per_s_per_gpu", both / (step_s * gpus) if gpus else step_s * NAN)
    row |= spread_row("usd_per_rollout", usd / rollouts)
    low, middle, high = _per_point(base, step_s, usd_per_h)
    return row | {"usd_per_point": middle, "usd_per_point_low": low, "usd_per_point_high": high}


def _per_point(base: Base, step_s: Floats, usd_per_h: float) -> tuple[float, float, float]:
    """p10, p50, p90 of dollars a point: those of the run in proportion to the dollars of a step."""
    if not base.point.draws.size:
        return NAN, NAN, NAN
    side = base.source.pools.side_usd_per_h
    before = usd_per_step(base.usd_per_h, side, np.asarray(base.source.step_s))
    return spread(base.point.draws * usd_per_step(usd_per_h, side, step_s) / before)


def _cycle(found: GpuCount | None) -> Row:
    if found is None or found.gpus is None:
        return {}
    low, high = found.gpus_low, found.gpus_high
    return {
        "gpus_same_cycle": float(found.gpus),
        "gpus_same_cycle_low": NAN if low is None else float(low),
        "gpus_same_cycle_high": NAN if high is None else float(high),
    }


def phases_table(book: Catalogue, base: Base, seen: Sequence[Seen]) -> pd.DataFrame:
    """PHASE_COLUMNS: seconds of each phase; rows with `exposed` add up to the step, the others say how long
    a phase takes where others hide a part of it.
    """
    ids = tuple(dict.fromkeys(pool.platform_id for pool in base.source.pools.each))
    head = {"target": base.target, "platform": platform_names(book, ids), "kind": MEASURED}
    rows = _phase_rows(head, base.phases, base.exposed, dict.fromkeys(PHASES, MEASURED))
    for one in seen:
        if not np.isnan(one.step_s).any():
            head = {"target": one.aim.target, "platform": one.aim.name(book), "kind": PROJECTED}
            rows += _phase_rows(head, one.phases, one.exposed, _phase_basis(one.factors))
    out = table(rows, PHASE_COLUMNS, PHASE_NUMBERS)
    return out.astype({"exposed": bool})


def _phase_basis(found: Factors) -> dict[str, str]:
    decode, training = basis_words(found.decode), basis_words(found.training)
    moved = dict.fromkeys(("rollout_work", "rollout_tail"), decode)
    moved |= dict.fromkeys(("logprob", "train"), training) | {"prefill": basis_words(found.prefill)}
    return {name: moved.get(name, "kept as measured") for name in PHASES}


def _phase_rows(
    head: Row, phases: Mapping[str, Floats], exposed: Mapping[str, Floats], basis: Mapping[str, str]
) -> list[Row]:
    out = []
    for name in (p for p in PHASES if p in phases):
        own, added = phases[name], exposed[name]
        if not np.any(own) and not np.any(added):
            continue
        told = {**head, "phase": name, "scales_with": SCALES_WITH[name], "basis": basis[name]}
        hidden = not np.allclose(own, added, rtol=1e-9, atol=1e-12, equal_nan=True)
        for draws, shown in ((added, True), (own, False)):
            if shown or hidden:
                low, middle, high = spread(draws)
                ends = {"seconds": middle, "seconds_low": low, "seconds_high": high}
                out.append({**told, **ends, "exposed": shown})
    return out


def calibration_table(found: Calibration | None) -> pd.DataFrame:
    """CALIBRATION: what the run itself fixes, and what rests on a prior."""
    factors = () if found is None else found.factors
    rows = [{**vars(f), "factor": f.value} for f in factors]
    out = table(rows, CALIBRATION, ["factor", "low", "high", "n_steps"])
    return out.astype({"identified": bool})


def drivers_table(seen: Sequence[Seen]) -> pd.DataFrame:
    """DRIVERS: share of the spread (log variance) and of the seconds by phase."""
    rows = [
        {"target": one.aim.target, "phase": name, "variance_frac": variance, "seconds_frac": seconds}
        for one in seen
        for name, (variance, seconds) in one.drivers.items()
    ]
    return table(rows, DRIVERS, DRIVERS[2:])


def whole_table(seen: Sequence[Seen]) -> pd.DataFrame:
    """WHOLE: the step by the rule for whole RL steps, beside p10, p50, p90 by phases, whose band is stretched
    in other tables where the two lie `apart`; `cause`: what makes most of that difference.
    """
    rows = []
    for one in seen:
        low, middle, high = spread(one.whole_step_s)
        row: Row = {"target": one.aim.target, "step_s": middle, "low": low, "high": high}
        row |= {"ratio": one.whole_ratio, "apart": one.apart}
        ends = zip(("phases_low", "phases_s", "phases_high"), spread(one.phases_step_s), strict=True)
        rows.append({**row, **dict(ends), "cause": one.cause.words if one.cause else ""})
    return table(rows, WHOLE, WHOLE_NUMBERS).astype({"apart": bool})


def gaps_table(source: SourceRun) -> pd.DataFrame:
    """GAPS: what a projection by phases still lacks, a row each."""
    rows = [{"run": source.run, "kind": g.kind, "what": g.what, "remedy": g.remedy} for g in source.gaps]
    return table(rows, GAPS)
