"""The user's runs in the terms of the published ones, with what makes them comparable or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.prices import attach_prices
from analysis.result import Assumption, Notice
from analysis.spend import filters_of, synthetic_notice
from data.catalogue import Catalogue
from data.queries import generations as queries
from data.queries import spend as spend_queries
from data.view import View
from models.cost import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from analysis.generations import GenerationsParams

ALL_TOKENS = "prompt and generated tokens, all GPUs"
GENERATED = "generated tokens only, all GPUs"
IDENTITY_LIMIT = 0.15
RUN_COLUMNS = [
    "run",
    "family",
    "platform",
    "model",
    "framework",
    "framework_version",
    "mode",
    "synthetic",
    "n_gpus",
]
NUMBERS = ["steps", "step_time_s", "step_time_s_low", "step_time_s_high", "tokens_per_s_per_gpu"]
NUMBERS += ["tokens_per_s_per_gpu_low", "tokens_per_s_per_gpu_high", "rollouts_per_step", "usd_per_gpu_h"]
NUMBERS += ["usd_per_gpu_h_low", "usd_per_gpu_h_high", "identity_ratio"]
RATES = ("", "_low", "_high")
NUMBERS += [f"usd_per_{what}{r}" for what in ("step", "mtok", "rollout") for r in RATES]
RUN_COLUMNS += [*NUMBERS, "throughput_basis", "missing"]


@dataclass(frozen=True)
class OwnRuns:
    """`table`: a row a run, columns RUN_COLUMNS; _low and _high of times and rates are p10 and p90 over
    steps, of dollars the range of published quotes.
    """

    table: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]


def own_runs(view: View, params: "GenerationsParams", book: Catalogue) -> OwnRuns:
    """Runs with timed steps that match the asked model and mode."""
    filters = filters_of(params)
    runs, steps = queries.runs(view, filters), queries.steps(view, filters)
    allocations = spend_queries.allocations(view, filters)
    allocations = allocations[allocations["role"].ne("sandbox")]
    priced = attach_prices(allocations, book, params.price)
    rows, notices = [], []
    for run in runs.to_dict("records"):
        mine = steps[steps["run"] == run["run"]]
        if mine.empty or not _matches(run, params, book):
            continue
        pools = priced.allocations[priced.allocations["run"] == run["run"]]
        row = _row(run, mine, pools, book)
        rows.append(row)
        notices += _run_notices(row, params)
    table = pd.DataFrame(rows, columns=RUN_COLUMNS).astype(dict.fromkeys(NUMBERS, "float64"))
    table = table.astype({"n_gpus": "Int64", "steps": "int64"})
    kept = set(table["run"])
    used = tuple(a for a in priced.assumptions) if kept else ()
    notices += synthetic_notice(str(r) for r in table.loc[table["synthetic"].astype(bool), "run"])
    return OwnRuns(table, used, (*(priced.notices if kept else ()), *notices))


def _matches(run: Mapping[Any, Any], params: "GenerationsParams", book: Catalogue) -> bool:
    if params.model and _model(run, book) != params.model:
        return False
    return not params.mode or run["mode"] == params.mode


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _model(run: Mapping[Any, Any], book: Catalogue) -> str:
    name = _text(run["llm"])
    known = book.llm(name) if name else None
    return known.name if known else name


def _row(
    run: Mapping[Any, Any], steps: pd.DataFrame, pools: pd.DataFrame, book: Catalogue
) -> dict[str, object]:
    ids = [p for p in dict.fromkeys(pools["platform"]) if isinstance(p, str) and p]
    platforms = [p for i in ids if (p := book.platform(i)) is not None]
    families = list(dict.fromkeys(p.family for p in platforms))
    all_tokens = steps["tok_all"].notna().any()
    tokens = steps["tok_all"] if all_tokens else steps["tok_gen"]
    rate = tokens / (steps["step_s"] * steps["gpus"])
    gpus = steps["gpus"].max()
    out: dict[str, object] = {
        "run": run["run"],
        "family": families[0] if len(families) == 1 else "Mixed" if families else "",
        "platform": " + ".join(p.name for p in platforms),
        "model": _model(run, book),
        **{c: _text(run[c]) for c in ("framework", "framework_version", "mode")},
        "synthetic": bool(run["synthetic"]),
        "n_gpus": gpus,
        "steps": len(steps),
        **_spread("step_time_s", steps["step_s"], float(steps["step_s"].median())),
        **_spread("tokens_per_s_per_gpu", rate, _overall(tokens, steps)),
        "rollouts_per_step": steps["rollouts"].median(),
        "identity_ratio": _identity(steps),
        "throughput_basis": ALL_TOKENS if all_tokens else GENERATED if tokens.notna().any() else "",
    }
    out |= _dollars(steps, tokens, pools)
    out["missing"] = _missing(out)
    return out


def _spread(name: str, values: pd.Series, centre: float) -> dict[str, float]:
    known = values.dropna().to_numpy(dtype=np.float64)
    low, high = np.quantile(known, [0.1, 0.9]) if len(known) else (np.nan, np.nan)
    return {name: centre, f"{name}_low": float(low), f"{name}_high": float(high)}


def _overall(tokens: pd.Series, steps: pd.DataFrame) -> float:
    known = tokens.notna() & steps["gpus"].notna()
    seconds = float((steps["step_s"] * steps["gpus"])[known].sum())
    return float(tokens[known].sum()) / seconds if seconds > 0 else float("nan")


def _identity(steps: pd.DataFrame) -> float:
    """Median of reported throughput x GPUs x seconds over the tokens of the step; NaN when not reported."""
    basis = steps["basis"].fillna("").astype(str)
    per_gpu = basis.str.startswith("per_gpu")
    scale = steps["gpus"].where(per_gpu, 1.0)
    ratio = steps["throughput"] * scale * steps["step_s"] / steps["tok_all"]
    return float(ratio[basis != ""].median()) if (basis != "").any() else float("nan")


def _dollars(steps: pd.DataFrame, tokens: pd.Series, pools: pd.DataFrame) -> dict[str, float]:
    out: dict[str, float] = {}
    by_pool = pools.groupby(["attempt", "pool"], sort=False, dropna=False)
    for tail, column in zip(RATES, ("usd_per_h", "low_per_h", "high_per_h"), strict=True):
        cost = (by_pool[column].mean() * by_pool["gpus"].max()).groupby("attempt").sum(min_count=1)
        unpriced = pools.loc[pools[column].isna(), "attempt"].unique()
        per_h = steps["attempt"].map(cost).where(~steps["attempt"].isin(unpriced))
        usd = per_h * steps["step_s"] / SECONDS_PER_HOUR
        out[f"usd_per_gpu_h{tail}"] = float((per_h / steps["gpus"]).median())
        out[f"usd_per_step{tail}"] = float(usd.median())
        out[f"usd_per_mtok{tail}"] = _ratio(usd, tokens) * 1e6
        out[f"usd_per_rollout{tail}"] = _ratio(usd, steps["rollouts"])
    return out


def _ratio(usd: pd.Series, count: pd.Series) -> float:
    known = usd.notna() & count.notna() & (count > 0)
    return float(usd[known].sum() / count[known].sum()) if known.any() else float("nan")


def _missing(row: Mapping[Any, Any]) -> str:
    gone = []
    if not row["platform"]:
        gone.append("platform")
    if not pd.notna(row["n_gpus"]):
        gone.append("GPUs")
    if not row["throughput_basis"]:
        gone.append("tokens")
    if row["platform"] and not pd.notna(row["usd_per_gpu_h"]):
        gone.append("price")
    return f"not known: {', '.join(gone)}" if gone else ""


def _run_notices(row: Mapping[Any, Any], params: "GenerationsParams") -> list[Notice]:
    out, name = [], str(row["run"])
    if row["missing"]:
        text = "A run cannot be laid over in full; fill in its details on the Telemetry page."
        out.append(Notice("run_incomplete", text, f"{name}: {row['missing']}"))
    if row["throughput_basis"] == GENERATED:
        text = "A run counts generated tokens only, the published ones prompts too: its tokens/s is lower."
        out.append(Notice("basis_differs", text, name))
    stack = " ".join(filter(None, (str(row["framework"]), str(row["framework_version"]))))
    if stack.casefold() != params.stack.casefold():
        text = "A run and the published ones differ in framework version: read the distance with care."
        out.append(Notice("stack_differs", text, f"{name}: {stack or 'framework not known'}"))
    ratio = float(str(row["identity_ratio"]))
    if ratio == ratio and abs(ratio - 1) > IDENTITY_LIMIT:
        text = (
            f"Reported throughput x GPUs x seconds is {100 * (ratio - 1):+.0f} % off the tokens of the step: "
            "the number of GPUs is probably not the real one."
        )
        out.append(Notice("identity_off", text, name))
    return out
