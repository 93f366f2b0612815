"""What a step would take if one phase were free: Amdahl for one clock, the longest pool for several."""

import pandas as pd

from analysis.phases import ON_CLOCK

NO_CLOCK = (
    "the clock of the other pool is not in the file, so what would hold the step up instead is not known"
)
OVERLAP = "pools overlap: the longest one sets the step"


def with_free(phases: pd.DataFrame) -> pd.DataFrame:
    """Add step_if_free_s, speedup_if_free and free_note (the rule used, or why there is no answer).

    Needs run, mode, pool, kind, mean_s, step_mean_s. Synchronous: step - phase. Otherwise the work of each
    pool overlaps: step - (longest pool now - longest pool without the phase); with one pool's clock only, its
    wait can go and nothing else can be told.
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
    rows["speedup_if_free"] = (rows["step_mean_s"] / rows["step_if_free_s"]).where(rows["step_if_free_s"] > 0)
    return rows


def _overlapping(rows: pd.DataFrame) -> None:
    on_clock = rows["kind"].isin(ON_CLOCK)
    work = rows[on_clock].groupby("pool")["mean_s"].sum()
    if len(work) >= 2:
        longest = float(work.max())
        others = rows["pool"].map({pool: work.drop(pool).max() for pool in work.index})
        without = (rows["pool"].map(work) - rows["mean_s"]).combine(others, max)
        rows.loc[on_clock, "step_if_free_s"] = rows["step_mean_s"] - (longest - without)
        rows.loc[on_clock, "free_note"] = OVERLAP
        return
    waits = rows["kind"].eq("wait")
    rows.loc[waits, "step_if_free_s"] = rows["step_mean_s"] - rows["mean_s"]
    rows.loc[waits, "free_note"] = "the trainer's clock: step - its wait"
    rows.loc[on_clock, "free_note"] = NO_CLOCK
