"""How many rollouts, how fast, how long and how stale."""

from typing import ClassVar

import pandas as pd

from analysis.checks import checked
from analysis.common import figure, nothing, result
from analysis.params import CommonParams
from analysis.result import Figure, Notice, Result
from analysis.sandbox import sandbox_figures, sandbox_table, sandbox_words
from analysis.spend import compute_spend, filters_of
from analysis.words import count, digits3, listing, percent
from data.queries import rollouts as queries
from data.queries import sandbox as sandbox_queries
from data.view import View

MOST_POINTS = 4000
ALL_GPUS = "generated tokens / (step seconds x GPUs of all pools)"
ROLLOUT_GPUS = "generated tokens / (step seconds x GPUs of the rollout or colocated pool)"


class RolloutsParams(CommonParams):
    """Shared parameters only."""

    question: ClassVar[str] = "rollouts"


def compute(view: View, params: RolloutsParams) -> Result:
    """Tables: `steps` (a row a run and bin of steps), `totals` (a row a run), `reported` (throughput as
    filed), `sandbox` (a row an environment), where a file has it `length_hist` (responses by run and bucket).
    """
    spend = compute_spend(view, params)
    filters = filters_of(params)
    totals = queries.totals(view, filters)
    totals = totals.assign(basis_gpu=ALL_GPUS, basis_rollout_gpu=ROLLOUT_GPUS)
    bins = max(10, MOST_POINTS // max(1, len(totals)))
    tables = {
        "steps": queries.by_step(view, filters, bins),
        "totals": totals,
        "reported": queries.reported(view, filters),
    }
    calls = sandbox_queries.by_env(view, filters)
    tables["sandbox"] = sandbox_table(calls)
    buckets = sandbox_queries.lengths(view, filters)
    if len(buckets):
        tables["length_hist"] = buckets
    if spend.runs.empty:
        return nothing("rollouts", view, params, tables=tables)
    known = totals[totals["rollouts"].notna()]
    return result(
        "rollouts", view, params, " ".join(filter(None, (_answer(totals, known), sandbox_words(calls)))),
        headline=[*_figures(totals, known), *sandbox_figures(calls)],
        tables=tables,
        notices=[*_shared(spend.notices), *checked(view, params)[1], *_notices(spend.runs, totals)],
    )  # fmt: skip


def _shared(notices: tuple[Notice, ...]) -> list[Notice]:
    """Notices about data, without those about prices: no dollars are shown here."""
    return [n for n in notices if n.code in ("synthetic", "lineage_unknown")]


def _figures(totals: pd.DataFrame, known: pd.DataFrame) -> list[Figure]:
    if totals.empty:
        return []
    n = int(known["steps_rollouts"].sum()) if len(known) else None
    seconds = totals.loc[totals["rollouts_per_s"].notna()]
    rate = _pooled(seconds, "rollouts", "rollouts_per_s")
    tokens = totals.loc[totals["tok_per_s"].notna()]
    missing = "the files do not say how many rollouts a step has"
    return [
        figure("rollouts", known["rollouts"].sum() if len(known) else None, n=n, missing=missing),
        figure("rollouts_per_s", rate, missing="rollouts or step times are missing"),
        figure("tok_per_s", _pooled(tokens, "tok_gen", "tok_per_s"), missing="generated tokens are missing"),
        figure(
            "tok_per_s_per_gpu", _pooled(totals, "tok_gen", "tok_per_s_per_gpu"),
            missing="generated tokens or the number of GPUs are missing; fill in the run details",
        ),
    ]  # fmt: skip


def _pooled(rows: pd.DataFrame, amount: str, rate: str) -> float | None:
    """Amount over time for several runs together: sum of amounts / sum of (amount / rate)."""
    used = rows[rows[rate].gt(0) & rows[amount].notna()]
    time = float((used[amount] / used[rate]).sum())
    return float(used[amount].sum()) / time if time > 0 else None


def _notices(runs: pd.DataFrame, totals: pd.DataFrame) -> list[Notice]:
    out = []
    rows = totals.set_index("run")
    for run in runs["run"]:
        if run not in rows.index:
            out.append(Notice("no_steps", f"{run} has no steps: upload its training log.", run))
            continue
        row = rows.loc[run]
        if 0 < row["steps_rollouts"] < row["steps"]:
            text = f"{run} reports rollouts in {row['steps_rollouts']} of {row['steps']} steps only."
            out.append(Notice("rollouts_partial", text, run))
        if pd.isna(row["tok_gen"]) and pd.notna(row["tok_total"]):
            text = f"{run} logs prompt and response tokens together, so generated tokens are not known."
            out.append(Notice("tok_gen_missing", text, run))
    return out


def _answer(totals: pd.DataFrame, known: pd.DataFrame) -> str:
    if totals.empty:
        return "No steps are loaded: upload a training log to see rollouts, tokens and lengths."
    if known.empty:
        return (
            "The steps are loaded, but no file says how many rollouts a step has: log the batch size or "
            "lengths."
        )
    which = known["run"].iloc[0] if len(known) == 1 else f"{len(known)} runs"
    text = f"{which} made {count(float(known['rollouts'].sum()))} rollouts"
    rate = _pooled(totals, "rollouts", "rollouts_per_s")
    if rate is not None:
        text += f" at {digits3(rate)} a second"
    per_gpu = _pooled(totals, "tok_gen", "tok_per_s_per_gpu")
    if per_gpu is not None:
        timed = totals[totals["tok_per_s_per_gpu"].gt(0)]
        of = (
            "" if len(timed) == len(known) else f"; of {listing(list(timed['run']))} alone, the rest log none"
        )
        text += f" and {digits3(per_gpu)} generated tokens a second and GPU (all pools{of})"
    cut = totals["truncated_frac"].dropna()
    if len(cut):
        text += f"; {percent(float(cut.max()))} of the responses hit the length limit"
        worst = totals.loc[totals["truncated_frac"] == cut.max(), "run"].iloc[0]
        text += f" in {worst}" if len(known) > 1 else ""
    return text + "."
