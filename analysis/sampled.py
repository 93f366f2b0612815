"""Sampled against allocated GPU-hours: where samples exceed the allocation, the two contradict each other."""

import pandas as pd

from analysis.frames import records
from analysis.spend import Spend
from analysis.words import count

TOLERANCE = 0.02
SUMS = ["known_s", "weighted_sum", "outside_s"]


def of_runs(samples: pd.DataFrame) -> pd.DataFrame:
    """known_s, weighted_sum and outside_s by measure: of GPUs with a run, or of all when none has one."""
    named = samples[samples["run"].notna()]
    return (samples if named.empty else named).groupby("measure", as_index=False)[SUMS].sum()


def excess(spend: Spend, samples: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Runs with more sampled than allocated GPU-hours: (sampled, allocated); "" is all runs together."""
    allocated = {str(r["run"]): float(r["gpu_hours_billed"]) for r in records(spend.runs)}
    named = samples[samples["run"].notna()]
    if named.empty:
        named = samples.assign(run="")
        allocated = {"": sum(allocated.values())}
    longest = (named.groupby(["run", "measure"])["known_s"].sum() / 3600).groupby("run").max()
    # whole minutes at both ends of a run are no excess
    return {
        str(run): (float(hours), allocated[str(run)])
        for run, hours in longest.items()
        if hours > allocated.get(str(run), float("nan")) * (1 + TOLERANCE)
    }


def exceeded(over: dict[str, tuple[float, float]]) -> str:
    """The reason why nothing is said about the allocated hours."""
    run, (hours, allocated) = next(iter(over.items()))
    who = f"{run} has" if run else "the GPUs have"
    return f"{who} {count(hours)} sampled GPU-hours but only {count(allocated)} allocated"
