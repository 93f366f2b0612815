"""What a step would take if one phase were free: Amdahl for one clock, the longest pool for several."""

import pandas as pd

from analysis.phases import ON_CLOCK, ON_TOP

NO_CLOCK = (
    "the clock of the other pool is not in the file, so what would hold the step up instead is not known"
)
PART_CLOCK = (
    "the timers of the other pool cover only a part of its step, so what would hold the step up instead is "
    "not known"
)
OWN_PART = "the timers of this pool cover only a part of its step, so what it would save is not known"
TOP = "it lies on top of the step timer: a step would take as long without it"
OVERLAP = "pools overlap: the longest one sets the step"
TOLD_FRAC = 0.5
"""A pool is told when its timers, waits included, cover this share of the step."""
WAITS_FRAC = 0.05
"""A pool that waits longer than this share of the step does not set the pace."""


def with_free(phases: pd.DataFrame) -> pd.DataFrame:
    """Add step_if_free_s, speedup_if_free and free_note (the rule used, or why there is no answer).

    Needs run, mode, pool, kind, mean_s, step_mean_s. Synchronous: step - phase. Otherwise the work of each
    pool overlaps: step - (longest pool now - longest pool without the phase); with one pool's clock only, its
    wait can go and nothing else can be told. A pool whose timers leave most of the step unattributed has no
    clock to compare with, and the longest pool must not be one that waits.
    """
    parts = [_one_run(group.copy()) for _, group in phases.groupby("run", sort=True)]
    if not parts:
        return phases.assign(step_if_free_s=float("nan"), speedup_if_free=float("nan"), free_note="")
    return pd.concat(parts, ignore_index=True)


def _one_run(rows: pd.DataFrame) -> pd.DataFrame:
    rows["step_if_free_s"], rows["free_note"] = float("nan"), ""
    mode = str(rows["mode"].iloc[0])
    if mode in ("", "sync"):
        on_clock = rows["kind"].isin(ON_CLOCK)
        rows.loc[on_clock, "step_if_free_s"] = rows["step_mean_s"] - rows["mean_s"]
        rows.loc[on_clock, "free_note"] = "one clock: step - phase"
    else:
        _overlapping(rows)
    rows.loc[rows["kind"].isin(ON_TOP), "free_note"] = TOP
    rows["speedup_if_free"] = (rows["step_mean_s"] / rows["step_if_free_s"]).where(rows["step_if_free_s"] > 0)
    return rows


def _overlapping(rows: pd.DataFrame) -> None:
    on_clock, waits = rows["kind"].isin(ON_CLOCK), rows["kind"].eq("wait")
    work = rows[on_clock].groupby("pool")["mean_s"].sum()
    waited = rows[waits].groupby("pool")["mean_s"].sum()
    covered = work.add(waited, fill_value=0.0)
    told = rows["pool"].isin(covered[covered >= TOLD_FRAC * float(rows["step_mean_s"].max())].index)
    if rows.loc[told & on_clock, "pool"].nunique() >= 2 and not _waits(work, waited, rows):
        work = work[work.index.isin(rows.loc[told, "pool"])]
        longest = float(work.max())
        others = rows["pool"].map({pool: work.drop(pool).max() for pool in work.index})
        without = (rows["pool"].map(work) - rows["mean_s"]).combine(others, max)
        rows.loc[told & on_clock, "step_if_free_s"] = rows["step_mean_s"] - (longest - without)
        rows.loc[told & on_clock, "free_note"] = OVERLAP
        rows.loc[~told & on_clock, "free_note"] = OWN_PART
        return
    alone = len(covered) < 2
    told |= alone
    rows.loc[told & waits, "step_if_free_s"] = rows["step_mean_s"] - rows["mean_s"]
    rows.loc[told & waits, "free_note"] = "the trainer's clock: step - its wait"
    rows.loc[told & on_clock, "free_note"] = NO_CLOCK if alone else PART_CLOCK
    rows.loc[~told & (waits | on_clock), "free_note"] = OWN_PART


def _waits(work: "pd.Series[float]", waited: "pd.Series[float]", rows: pd.DataFrame) -> bool:
    """Whether the pool with the most timed work waits: then another one sets the pace, untimed."""
    wait = float(waited.get(work.idxmax(), 0.0))
    return wait > WAITS_FRAC * float(rows["step_mean_s"].max())
