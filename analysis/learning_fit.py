"""The learning curve of one run: its evaluations as amounts and scores, fitted, and money along it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from analysis.evaluations import Evaluations, load_evaluations
from analysis.frames import known, number, records
from analysis.headline import why_no_usd
from analysis.params import CommonParams
from analysis.points import score_points
from analysis.result import Notice
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import listing
from data.errors import UserError
from data.queries.known import known_runs
from data.view import View
from models.curve import Curve, fit_curve
from models.curve_compare import Comparison, WarmUp, compare, warm_up
from models.curve_fit import Points
from models.draws import money_draws
from models.stats import se_share

Floats = npt.NDArray[np.float64]
AMOUNTS = {"tokens": "tokens_kept", "steps": "steps", "gpu_hours": "gpu_hours_kept"}
"""Column of `points` that holds each amount: what the surviving lineage alone did."""
AMOUNT_WORDS = {"tokens": "generated tokens", "steps": "steps", "gpu_hours": "GPU-hours"}
AXES = ("usd", "gpu_hours", "tokens", "rollouts", "steps", "hours")
FEWEST = {True: 5, False: 6}
"""Evaluations that a fit needs, with and without a score of the checkpoint it started from."""
UPLOAD = "Upload more evaluations of its checkpoints (evals template)."


class CurveParams(CommonParams):
    """`run` '' picks the run with most evaluations, `benchmark` '' the one most runs were evaluated on.

    `fit_in`: the amount that buys the score; auto: tokens where they are logged, else steps. `target`: a
    score, 0..1 (None: one point above the curve at its last evaluation); `budget_usd`: dollars in all (None:
    twice what was spent); `worth_usd`: what a point is worth to the user (None: no stop line).
    """

    question: ClassVar[str] = "learning_curve"
    run: str = ""
    benchmark: str = ""
    fit_in: Literal["auto", "tokens", "steps", "gpu_hours"] = "auto"
    warm_up: Literal["rule", "none"] = "rule"
    x: Literal["usd", "gpu_hours", "tokens", "rollouts", "steps", "hours"] = "usd"
    target: float | None = Field(default=None, gt=0, le=1)
    budget_usd: float | None = Field(default=None, gt=0, le=1e12)
    worth_usd: float | None = Field(default=None, gt=0, le=1e12)
    seed: int = 20260301


@dataclass(frozen=True)
class Along:
    """What lies along a run: values (k,) of any axis at amounts (k,), both from 0 and never falling.

    Between evaluations a straight line, beyond the last one the mean rate of the run.
    """

    amounts: Floats
    values: Floats

    @property
    def rate(self) -> float:
        """Mean value of one unit of the amount, to the last evaluation."""
        return float(self.values[-1] / self.amounts[-1])

    def at(self, amount: Floats) -> Floats:
        """Values at amounts of any shape."""
        inside = np.interp(amount, self.amounts, self.values)
        later = np.maximum(np.asarray(amount) - self.amounts[-1], 0.0)
        value: Floats = inside + later * self.rate
        return value

    def amount(self, value: Floats) -> Floats:
        """The amount at which a value is reached, the inverse of `at`."""
        inside = np.interp(value, self.values, self.amounts)
        later = np.maximum(np.asarray(value) - self.values[-1], 0.0)
        amount: Floats = inside + later / self.rate
        return amount


@dataclass(frozen=True)
class Fitted:
    """A run's curve on one benchmark. `rows`: its evaluations, `used` says which were fitted.

    `curve` None: `missing` says why, in a sentence, and what to do. `compared` None: `uncompared` says why.
    `factors` (draws,): the price between its quotes over the price in use; ones where nobody quotes a range.
    """

    run: str
    benchmark: str
    rows: pd.DataFrame
    spend: Spend
    fit_in: str = ""
    start: float | None = None
    start_n: float = math.nan
    curve: Curve | None = None
    warm: WarmUp | None = None
    compared: Comparison | None = None
    uncompared: str = ""
    missing: str = ""
    no_usd: str = ""
    factors: Floats | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def points(self) -> pd.DataFrame:
        """Evaluations after the start, by amount."""
        return self.rows[~self.rows["is_start"]]

    def along(self, axis: str) -> Along:
        """The values of one of AXES along the run; NaN where the files do not say."""
        rows = self.points
        values, amounts = rows[axis].to_numpy(dtype=float), rows["amount"].to_numpy(dtype=float)
        if np.isnan(values).any():
            values = np.full(len(values), math.nan)
        return Along(np.append(0.0, amounts), np.append(0.0, np.maximum.accumulate(values)))


def load(view: View, params: CurveParams) -> tuple[Spend, Evaluations, pd.DataFrame, list[Notice]]:
    """Spend, evaluations and scores with what had been spent by then (POINTS) of the picked runs."""
    spend = compute_spend(view, params)
    evals = load_evaluations(view, filters_of(params))
    points, notices = score_points(view, params, spend, evals, params.benchmark)
    return spend, evals, points, notices


def pick_run(view: View, params: CurveParams, points: pd.DataFrame) -> str:
    """The run asked for, else the one with most evaluations, then the one with the highest score.

    '' without any. Raises UserError for a run that does not exist.
    """
    if params.run:
        known_ones = known_runs(view)
        if params.run not in known_ones:
            shown = listing(known_ones, 12) or "none yet; import data first"
            raise UserError(f"There is no run '{params.run}'", "parameter run", f"Use one of {shown}.")
        return params.run
    later = points[~points["is_start"]]
    if later.empty:
        return ""
    by_run = later.groupby("run")["score"].agg(["size", "max"])
    order = by_run.reset_index().sort_values(["size", "max", "run"], ascending=[False, False, True])
    return str(order.iloc[0]["run"])


def fit(run: str, points: pd.DataFrame, spend: Spend, params: CurveParams) -> Fitted:
    """Fit the curve of `run`, or say why it cannot be."""
    mine = points[points["run"] == run].copy()
    later = mine[~mine["is_start"]]
    benchmark = str(mine["benchmark"].iloc[0]) if len(mine) else params.benchmark
    out = Fitted(run, benchmark, mine.assign(amount=math.nan, used=False), spend)
    fit_in, why = _amount(later, params, run)
    if why:
        return _without(out, why)
    mine["amount"] = mine[AMOUNTS[fit_in]].where(~mine["is_start"], 0.0)
    mine = mine.sort_values("amount", kind="stable").reset_index(drop=True)
    starts = mine[mine["is_start"]]
    start = number(starts["score"].mean()) if len(starts) else math.nan
    start_n = number(starts["n"].max()) if len(starts) else math.nan
    held = mine[~mine["is_start"]]
    why = _lacking(run, benchmark, held, known(start))
    rows = mine.assign(used=~mine["is_start"])
    out = Fitted(
        run, benchmark, rows, spend, fit_in, start if known(start) else None, start_n,
        no_usd=_no_usd(run, held, spend), factors=_factors(held, params.seed),
    )  # fmt: skip
    return _without(out, why) if why else _fitted(out, params)


def _without(out: Fitted, why: str) -> Fitted:
    return Fitted(
        out.run, out.benchmark, out.rows.assign(used=False), out.spend, out.fit_in, out.start, out.start_n,
        missing=why, no_usd=out.no_usd,
    )  # fmt: skip


def _amount(later: pd.DataFrame, params: CurveParams, run: str) -> tuple[str, str]:
    """The amount to fit in, or why there is none."""
    has = [name for name, column in AMOUNTS.items() if len(later) and later[column].gt(0).all()]
    wanted = [params.fit_in] if params.fit_in != "auto" else ["tokens", "steps"]
    found = [name for name in wanted if name in has]
    if found:
        return found[0], ""
    if later.empty:
        return "", f"{run or 'No run'} has no evaluation after its start. {UPLOAD}"
    lacks = " and ".join(AMOUNT_WORDS[name] for name in wanted)
    other = f" Fit in {listing([AMOUNT_WORDS[n] for n in has])} instead." if has else ""
    return "", f"{lacks} up to some evaluation of {run} are not known.{other or ' Load its training log.'}"


def _lacking(run: str, benchmark: str, held: pd.DataFrame, has_start: bool) -> str:
    if set(held["kind"]) != {"fraction"}:
        return (
            f"scores of {run} on {benchmark} are no shares of tasks, so the ends of their scale are not "
            "known and no curve is fitted. Upload them as fraction or percent."
        )
    need = FEWEST[has_start]
    if len(held) < need:
        more = "" if has_start else " (5 with a score of the checkpoint it started from)"
        plural = "" if len(held) == 1 else "s"
        after = " after its start" if has_start else ""
        has = f"{run} has {len(held)} evaluation{plural} on {benchmark}{after}"
        return f"{has}; a curve needs {need}{more}. {UPLOAD}"
    amounts = held["amount"].nunique()
    if amounts < need - 2:
        return f"{run} was evaluated at {amounts} different amounts; a curve needs {need - 2}. {UPLOAD}"
    return ""


def _no_usd(run: str, held: pd.DataFrame, spend: Spend) -> str:
    if held["usd"].notna().all():
        return ""
    return why_no_usd(spend, spend.runs[spend.runs["run"] == run])


def _factors(held: pd.DataFrame, seed: int) -> Floats | None:
    """Draws of the price over its value: its quotes are the 5 % and 95 % points; None without a price."""
    last = records(held)[-1] if len(held) else {}
    value, low, high = (number(last.get(name)) for name in ("usd", "usd_low", "usd_high"))
    if not 0 < low <= value <= high:
        return None
    factors: Floats = money_draws(value, low, high, DRAWS, seed + 1) / value
    return factors


DRAWS = 500


def _fitted(out: Fitted, params: CurveParams) -> Fitted:
    held = out.points
    whole = _points(held)
    notices: list[Notice] = []
    warm = None
    if params.warm_up == "rule":
        if len(held) > FEWEST[out.start is not None]:
            warm = warm_up(whole, out.start)
        else:
            words = f"{out.run}: too few evaluations to judge a warm-up; none is left out."
            notices.append(Notice("warm_up_not_judged", words, out.run))
    left_out = warm.left_out if warm else 0
    used = whole.part(left_out)
    curve = fit_curve(used, out.start, seed=params.seed, start_se=_start_se(out), draws=DRAWS)
    compared, why = None, ""
    try:
        compared = compare(used, out.start, seed=params.seed)
    except ValueError as error:
        why = str(error)
    place = np.arange(len(held)) >= left_out
    rows = out.rows.copy()
    rows.loc[~rows["is_start"], "used"] = place
    return Fitted(
        out.run, out.benchmark, rows, out.spend, out.fit_in, out.start, out.start_n, curve, warm, compared,
        why, "", out.no_usd, out.factors, (*notices, *_told(out, curve, warm)),
    )  # fmt: skip


def _points(held: pd.DataFrame) -> Points:
    """Evaluations with the binomial standard error of each as its weight, where all say how many tasks."""
    x, score, n = (held[name].to_numpy(dtype=float) for name in ("amount", "score", "n"))
    inside = (score > 0) & (score < 1) & (n > 0)
    return Points(x, score, np.sqrt(score * (1 - score) / n) if inside.all() else None)


def _start_se(out: Fitted) -> float:
    if out.start is None or not out.start_n > 0:
        return 0.0
    return se_share(out.start, out.start_n)


def _told(out: Fitted, curve: Curve, warm: WarmUp | None) -> list[Notice]:
    told = []
    if out.start is None:
        words = (
            f"{out.run}: the checkpoint it started from was not evaluated on {out.benchmark}; the start of "
            "the curve is fitted."
        )
        told.append(Notice("start_fitted", words, out.run))
    if warm is not None and not warm.settled:
        words = (
            f"{out.run}: as many leading evaluations were left out as the rule allows; the curve may be no "
            "sigmoid, or the run changed on its way."
        )
        told.append(Notice("warm_up_unsettled", words, out.run))
    if not curve.top_seen:
        words = (
            f"{out.run}: its evaluations do not bound the top of the curve, so what lies far beyond the last "
            "one is open."
        )
        told.append(Notice("top_not_seen", words, out.run))
    return told
