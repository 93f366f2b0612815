"""Published RL runs by platform generation, at the picked price, with the user's runs laid over them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from analysis.common import result
from analysis.ownruns import own_runs
from analysis.params import CommonParams
from analysis.prices import split_price
from analysis.refpairs import METRICS, blend, pairs
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import digits3, listing
from data.catalogue import Catalogue
from data.catalogue_types import STATUS_WORDS, PriceChoice, RlRun, price_words
from data.errors import UserError
from data.view import View
from models.cost import usd_per_million_tokens, usd_per_step

DEFAULT_STACK = "nemo-rl v0.5"
ALL = "all"
IDENTITY_LIMIT = 0.15
ORDER = (
    *("a100-80gb-sxm", "h20", "h800", "h100-sxm", "gh200", "h200-sxm", "h200-nvl", "mi300x", "mi325x"),
    *("b200-hgx", "gb200-nvl72", "b300-hgx", "gb300-nvl72", "mi350x", "mi355x"),
    *("vera-rubin-nvl72", "mi455x", "rubin-ultra-nvl576"),
)
MODES = {
    "sync_colocated": "sync",
    "sync_disaggregated": "sync",
    "one_step_off": "one_step_off",
    "async": "async",
}
MODE_WORDS = {"sync": "synchronous", "one_step_off": "one step off", "async": "asynchronous"}
MATCH_WORDS = {"node_matched": "half as many GPUs", "gpu_matched": "as many GPUs"}


class GenerationsParams(CommonParams):
    """`stack`: framework and version, 'all' for every one; `model` and `mode`: empty for all."""

    question = "generations"
    stack: str = DEFAULT_STACK
    model: str = ""
    mode: Literal["", "sync", "one_step_off", "async"] = ""


def compute(view: View, params: GenerationsParams) -> Result:
    """Lay runs over the reference set; raises UserError on an unknown stack or model."""
    book = view.catalogue
    everything = reference_table(book, params.price)
    shown = _filtered(everything, params)
    table = pairs(shown, ORDER)
    blended = blend(table)
    mine = own_runs(view, params, book)
    return result(
        "generations",
        view,
        params,
        _answer(blended, table, mine.table, params),
        headline=[*_figures(blended), _count(mine.table)],
        tables={"reference": shown, "runs": mine.table, "pairs": table, "blends": blended},
        assumptions=[*_assumptions(book, shown, params.price), *mine.assumptions],
        notices=[*_notices(book, shown, table, params), *mine.notices],
        prices=shown[["price_id"]],
    )


def reference_table(book: Catalogue, price: str) -> pd.DataFrame:
    """All published runs with dollars at the picked price; a missing price leaves nulls and a sentence."""
    rows = [
        _reference_row(book, run, book.price(run.platform_id, *split_price(price)), price)
        for run in book.rl_runs()
    ]
    frame = pd.DataFrame(rows)
    numbers = [c for c in frame.columns if c.startswith("usd_") and c != "usd_missing"]
    numbers += [
        "identity_ratio",
        "avg_seq_len",
        "rollouts_per_step",
        "tokens_per_s_per_gpu",
        "step_time_s",
    ]
    frame = frame.astype(dict.fromkeys(numbers, "float64"))
    return frame.astype({"n_gpus": "int64", "seq_len_max": "Int64"})


def _reference_row(book: Catalogue, run: RlRun, choice: PriceChoice | None, price: str) -> dict[str, object]:
    platform = book.platform(run.platform_id)
    if platform is None:
        raise KeyError(run.platform_id)
    vendor = run.measured_by.startswith("vendor")
    identity = identity_ratio(run)
    return {
        "row_id": run.row_id,
        "family": platform.family,
        "platform_id": run.platform_id,
        "platform": platform.name,
        "model": run.model,
        "model_id": run.model_id,
        "framework": run.framework,
        "framework_version": run.framework_version,
        "stack": stack_of(run),
        "algo": run.algo,
        "mode": MODES.get(run.sync_mode, ""),
        "sync_mode": run.sync_mode,
        "policy_lag": run.policy_lag,
        "train_precision": run.train_precision,
        "gen_precision": run.gen_precision,
        "precision": "/".join(dict.fromkeys(p for p in (run.train_precision, run.gen_precision) if p)),
        "n_gpus": run.n_gpus,
        "seq_len_max": run.seq_len_max,
        "avg_seq_len": run.avg_seq_len,
        "rollouts_per_step": run.rollouts_per_step,
        "tokens_per_s_per_gpu": run.tokens_per_s_per_gpu,
        "step_time_s": run.step_time_s,
        **_dollars(run, choice),
        "price_id": choice.price_id if choice else None,
        "usd_missing": "" if choice else book.why_no_price(run.platform_id, *split_price(price)),
        "identity_ratio": identity,
        "identity_off": identity is not None and abs(identity - 1) > IDENTITY_LIMIT,
        "measured_by": run.measured_by,
        "badge": STATUS_WORDS["measured_by_vendor"] if vendor else f"measured: {run.measured_by}",
        "source": run.source,
        "note": run.note,
    }


def stack_of(run: RlRun) -> str:
    """Framework and version as one name; a version that repeats the framework's name stands alone."""
    version = run.framework_version
    return (
        version if version.lower().startswith(run.framework.split("-")[0]) else f"{run.framework} {version}"
    )


def _dollars(run: RlRun, choice: PriceChoice | None) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for tail, rate in _rates(choice).items():
        tokens, seconds = run.tokens_per_s_per_gpu, run.step_time_s
        step = usd_per_step(rate, run.n_gpus, seconds) if rate and seconds else None
        out[f"usd_per_gpu_h{tail}"] = rate
        out[f"usd_per_mtok{tail}"] = usd_per_million_tokens(rate, tokens) if rate and tokens else None
        out[f"usd_per_step{tail}"] = step
        # 64 prompts a step are not 64 rollouts
        counted = run.rollouts_per_step if "prompts" not in run.note else None
        out[f"usd_per_rollout{tail}"] = step / counted if step and counted else None
    return out


def _rates(choice: PriceChoice | None) -> dict[str, float | None]:
    if choice is None:
        return {"": None, "_low": None, "_high": None}
    return {"": choice.usd_per_gpu_h, "_low": choice.low, "_high": choice.high}


def identity_ratio(run: RlRun) -> float | None:
    """tokens/s/GPU x GPUs x seconds over rollouts x mean tokens; None when a part is not published."""
    parts = (run.tokens_per_s_per_gpu, run.step_time_s, run.rollouts_per_step, run.avg_seq_len)
    if any(not p for p in parts) or run.avg_seq_len_counts != "prompt_and_response":
        return None
    tokens, seconds, rollouts, length = (float(p or 0) for p in parts)
    return tokens * run.n_gpus * seconds / (rollouts * length)


def choices(book: Catalogue) -> dict[str, list[str]]:
    """Stacks and models that can be asked for, the default stack first."""
    runs = book.rl_runs()
    stacks = list(dict.fromkeys(stack_of(r) for r in runs))
    first = [DEFAULT_STACK] if DEFAULT_STACK in stacks else []
    return {
        "stack": [*first, *(s for s in stacks if s not in first), ALL],
        "model": list(dict.fromkeys(r.model for r in runs)),
    }


def _filtered(frame: pd.DataFrame, params: GenerationsParams) -> pd.DataFrame:
    for column, asked in (("stack", params.stack), ("model", params.model)):
        known = list(dict.fromkeys(frame[column]))
        if asked and asked != ALL and asked not in known:
            raise UserError(
                f"no published run has {column} {asked!r}", column, f"Pick one of {', '.join(known)}."
            )
    keep = pd.Series(True, index=frame.index)
    for column, asked in (("stack", params.stack), ("model", params.model), ("mode", params.mode)):
        if asked and asked != ALL:
            keep &= frame[column] == asked
    rank = {p: i for i, p in enumerate(ORDER)}
    out = frame[keep].assign(_rank=lambda f: f["platform_id"].map(rank))
    out = out.sort_values(["_rank", "model", "mode", "row_id"], kind="stable")
    return out.drop(columns="_rank").reset_index(drop=True)


def _figures(blended: pd.DataFrame) -> list[Figure]:
    out = []
    for row in blended.to_dict("records"):
        if not np.isfinite(row["high"]):
            continue
        name = f"{row['metric']}:{row['platform_a']}>{row['platform_b']}:{row['matched']}"
        newer, older = (str(row[c]).split()[0] for c in ("platform_b", "platform_a"))
        label = f"{_first_upper(METRICS[row['metric']])}, {newer}/{older}"
        how = f"{row['pairs']} published pairs ({MATCH_WORDS[str(row['matched'])]}) of {row['models']} models"
        out.append(
            Figure(
                name,
                label,
                float(row["ratio"]),
                "x",
                float(row["low"]),
                float(row["high"]),
                "ci95",
                int(row["pairs"]),
                formula=f"geometric mean over {how}; Student interval over models",
            )
        )
    return out


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _count(mine: pd.DataFrame) -> Figure:
    return Figure(
        "own_runs", "Your runs laid over", float(len(mine)), "count", formula="runs with timed steps"
    )


def _answer(blended: pd.DataFrame, table: pd.DataFrame, mine: pd.DataFrame, params: GenerationsParams) -> str:
    told = blended[(blended["metric"] == "step_time_s") & blended["high"].notna()]
    parts = [_pair_words(blended, row, params) for row in told.to_dict("records")[:2]]
    if not parts:
        parts = [_few_words(table)]
    tail = f" Laid over: {listing(list(mine['run']), 3)}." if len(mine) else ""
    return f"{'; '.join(parts)}.{tail}"


def _few_words(table: pd.DataFrame) -> str:
    text = "These published runs pair fewer than three models on two platforms, so no mean is given"
    single = table[table["metric"] == "step_time_s"].to_dict("records")
    if not single:
        return text
    facts = [
        f"x {digits3(r['ratio_b_over_a'])} ({r['model']}, {r['gpus_b']:.0f} x {r['platform_b']} against "
        f"{r['gpus_a']:.0f} x {r['platform_a']}, {MODE_WORDS.get(r['mode'], 'mode not stated')})"
        for r in single
    ]
    return f"{text}; step time of the single pairs: {listing(facts, 3)}"


def _pair_words(blended: pd.DataFrame, row: Mapping[Any, Any], params: GenerationsParams) -> str:
    keys = ["platform_a", "platform_b", "matched"]
    same = blended[(blended[keys] == [row[k] for k in keys]).all(axis=1) & blended["high"].notna()]
    by_metric = {r["metric"]: r for r in same.to_dict("records")}
    kind, tier = split_price(params.price)
    words = {
        "step_time_s": "step time",
        "usd_per_step": f"dollars a step at {price_words(kind, tier)}",
        "tokens_per_s_per_gpu": "tokens/s a GPU",
    }
    facts = "; ".join(f"{w} {_ratio(by_metric[m])}" for m, w in words.items() if m in by_metric)
    basis = "all framework versions" if params.stack == ALL else params.stack
    return (
        f"On {MATCH_WORDS[row['matched']]}, {row['platform_b']} against {row['platform_a']}: {facts} "
        f"({row['pairs']} published pairs, {row['models']} models, {basis}, 95 % intervals)"
    )


def _ratio(row: Mapping[Any, Any]) -> str:
    value, low, high = (digits3(float(row[c])) for c in ("ratio", "low", "high"))
    equal = ", no clear difference" if row["low"] <= 1 <= row["high"] else ""
    return f"x {value} ({low} to {high}{equal})"


def _assumptions(book: Catalogue, shown: pd.DataFrame, price: str) -> list[Assumption]:
    out = []
    for platform_id in dict.fromkeys(shown["platform_id"]):
        choice = book.price(platform_id, *split_price(price))
        if choice is not None:
            name = f"rent of {platform_id} ({choice.price_id})"
            out.append(
                Assumption(
                    name, choice.usd_per_gpu_h, choice.unit, choice.status, choice.source, choice.as_of
                )
            )
    return out


def _notices(
    book: Catalogue, shown: pd.DataFrame, table: pd.DataFrame, params: GenerationsParams
) -> Sequence[Notice]:
    out = []
    if (table["matched"] == "node_matched").any():
        text = (
            "Most published pairs set n H100 against n/2 GB200: chip speed and strong scaling are mixed. "
            "Read tokens/s/GPU together with the step time."
        )
        out.append(Notice("scaling_mixed", text, "pairs"))
    if shown["stack"].nunique() > 1:
        text = "Compare only inside one framework version: releases alone move these numbers."
        out.append(Notice("versions_mixed", text, "reference"))
    if shown["measured_by"].str.startswith("vendor").any():
        text = "Numbers badged 'measured by vendor' come from the maker of a chip or framework."
        out.append(Notice("vendor_measured", text, "reference"))
    for row in shown[shown["identity_off"]].to_dict("records"):
        off = 100 * (row["identity_ratio"] - 1)
        text = f"tokens/s/GPU x GPUs x seconds is {off:+.0f} % off rollouts x mean tokens in a published row."
        out.append(Notice("identity_off", text, f"{row['row_id']} {row['model']}, {row['platform']}"))
    for platform_id in dict.fromkeys(shown.loc[shown["price_id"].isna(), "platform_id"]):
        why = book.why_no_price(platform_id, *split_price(params.price))
        out.append(Notice("price_missing", why, platform_id))
    return out
