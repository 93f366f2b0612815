"""A service run and a GPU run in one table: tokens of each run, its own cost, what services would bill."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.common import figure, nothing, result
from analysis.frames import NAN, Row, add_up, known, number, ratio, records, table, text
from analysis.metered import METERED
from analysis.offers import RENTED, Method, Offer, Wanted, method_of, offers_for
from analysis.params import CommonParams
from analysis.result import Assumption, Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import count, digits3, listing, money, percent
from data.catalogue_services import ServicePrice
from data.queries import metered as queries
from data.view import View

BESIDE = ("judge", "sandbox")
"""Roles that no service bill replaces: they stay a cost of their own."""
RUNS = (
    "run", "campaign", "llm", "params_b", "method", "method_basis", "basis", "tok_prefill", "tok_sample",
    "tok_train", "train_basis", "tok_all", "gpu_hours", "usd", "usd_low", "usd_high", "usd_beside",
    "usd_per_mtok", "lacking",
)  # fmt: skip
RUN_TEXTS = ("run", "campaign", "llm", "method", "method_basis", "basis", "train_basis", "lacking")
TABLE = (
    "run", "basis", "offer", "provider", "method", "tuning", "usd", "usd_low", "usd_high", "prefill_usd",
    "sample_usd", "train_usd", "ratio_to_run", "breakeven_usd_per_gpu_h", "breakeven_tok_per_gpu_h",
    "comparable", "why_not", "failed_jobs_billed", "as_of", "conditions", "status", "source", "price_ids",
)  # fmt: skip
NUMBERS = TABLE[6:15]


class ServicesParams(CommonParams):
    """Shared parameters only; the run's own dollars are at the picked price."""

    question = "services"


@dataclass(frozen=True)
class Used:
    """One run: its row of `RUNS`, tokens by kind over all attempts and on the surviving lineage."""

    row: Row
    wanted: Wanted | None


def compute(view: View, params: ServicesParams) -> Result:
    """Price the tokens of every picked run at every service that takes its method and model."""
    spend = compute_spend(view, CommonParams(**params.model_dump(include=set(CommonParams.model_fields))))
    heads = records(spend.runs)
    book = view.catalogue.service_prices()
    if not heads:
        empty = {"side_by_side": table([], TABLE, NUMBERS), "prices": price_table(book)}
        return nothing("services", view, params, {"runs": list(RUNS)}, empty)
    used = _used(view, params, spend)
    rows: list[Row] = []
    offers: list[Offer] = []
    for one in used:
        rows.append(_own_row(one.row))
        if one.wanted is None:
            continue
        found = offers_for(book, one.wanted)
        offers += [offer for offer in found if offer.comparable]
        rows += [_offer_row(one.row, one.wanted, offer) for offer in found]
    frame = table(rows, TABLE, NUMBERS).astype({"comparable": bool})
    runs = table([one.row for one in used], RUNS, [c for c in RUNS if c not in RUN_TEXTS])
    cheapest = _cheapest(rows)
    return result(
        "services",
        view,
        params,
        _answer(used, cheapest, _cheapest(rows, RENTED)),
        headline=[
            figure("service_ratio", cheapest["ratio_to_run"] if cheapest else None, missing=_why_none(used)),
            figure(
                "service_break_even", cheapest["breakeven_usd_per_gpu_h"] if cheapest else None,
                missing=_why_none(used),
            ),
        ],
        tables={"side_by_side": frame, "runs": runs, "prices": price_table(book)},
        assumptions=[*spend.assumptions, *_assumptions(offers)],
        notices=[*spend.notices, *_notices(used, offers)],
    )  # fmt: skip


def _used(view: View, params: ServicesParams, spend: Spend) -> list[Used]:
    tokens: dict[str, list[Row]] = {}
    for row in records(queries.tokens(view, filters_of(params))):
        tokens.setdefault(row["run"], []).append(row)
    pools = [r for r in spend.rows if r["role"] not in BESIDE]
    beside = add_up([r for r in spend.rows if r["role"] in BESIDE], lambda r: r["run"], ["usd"])
    core = add_up(pools, lambda r: r["run"], ["gpu_hours", "usd", "usd_low", "usd_high"])
    bills = add_up(spend.bills, lambda r: r["run"], ["usd"])
    held: dict[str, dict[str, float]] = {}
    for row in pools:
        by = held.setdefault(row["run"], {})
        name = text(row["platform"]) or ""
        by[name] = by.get(name, 0.0) + number(row["gpu_hours"])
    return [
        _one(view, head, tokens.get(head["run"], []), core.get(head["run"]), beside.get(head["run"]),
             bills.get(head["run"]), held.get(head["run"], {}))
        for head in records(spend.runs)
    ]  # fmt: skip


def _one(
    view: View,
    head: Row,
    attempts: list[Row],
    core: Mapping[str, float] | None,
    beside: Mapping[str, float] | None,
    bill: Mapping[str, float] | None,
    held: Mapping[str, float],
) -> Used:
    sums = {
        name: _sum(row[name] for row in attempts)
        for kind in ("tok_prompt", "tok_gen", "tok_trained", "tok_total", "tok_cached")
        for name in (kind, f"{kind}_kept")
    }
    method = method_of(text(head["algorithm"]), sums["tok_gen"])
    whole, basis = _tokens(sums, method.name, "")
    kept, _ = _tokens(sums, method.name, "_kept")
    name = text(head["llm"])
    size = _size(view, name)
    metered = bill is not None
    own: Mapping[str, float] = bill if bill is not None else core or {}
    usd = number(own.get("usd"))
    read = sum(whole[k] for k in ("prefill", "cached_prefill", "sample") if k in whole)
    all_tokens = read if method.name == "rl" else whole["train"]
    lacking = _lacking(name, method, whole)
    row: Row = {
        "run": head["run"], "campaign": head["campaign"], "llm": name, "params_b": size,
        "method": method.name, "method_basis": method.basis, "basis": METERED if metered else head["basis"],
        "tok_prefill": whole["prefill"] + whole.get("cached_prefill", 0.0), "tok_sample": whole["sample"],
        "tok_train": whole["train"],
        "train_basis": basis, "tok_all": all_tokens,
        "gpu_hours": NAN if metered else number((core or {}).get("gpu_hours")), "usd": usd,
        "usd_low": usd if metered else number(own.get("usd_low")),
        "usd_high": usd if metered else number(own.get("usd_high")),
        "usd_beside": number((beside or {"usd": 0.0})["usd"]),
        "usd_per_mtok": 1e6 * ratio(usd, all_tokens), "lacking": lacking,
    }  # fmt: skip
    used = {} if metered else dict(held)
    return Used(row, None if lacking else Wanted(method.name, name or "", size, whole, kept, used))


def _size(view: View, llm: str | None) -> float:
    """Billions of parameters of a model, NaN when it is not known."""
    shape = view.catalogue.llm(llm) if llm else None
    return shape.params_total_b if shape else NAN


def _sum(values: Iterable[object]) -> float:
    found = [number(v) for v in values]
    return sum(found) if found and all(map(known, found)) else NAN


def _tokens(sums: Mapping[str, float], method: str, part: str) -> tuple[dict[str, float], str]:
    """Tokens a service would bill; supervised and preference tuning train alone."""
    prompt, sampled, trained, total = (
        sums[f"{name}{part}"] for name in ("tok_prompt", "tok_gen", "tok_trained", "tok_total")
    )
    both = prompt + sampled
    if method in ("sft", "dpo"):
        value = total if known(total) else trained
        return {"prefill": 0.0, "sample": 0.0, "train": value}, "all tokens of the batches"
    if not known(prompt) and known(total) and known(sampled):
        prompt = max(0.0, total - sampled)
        both = total
    cached = sums[f"tok_cached{part}"]
    again = min(cached, prompt) if known(cached) else 0.0
    read = {"prefill": prompt - again, "cached_prefill": again, "sample": sampled}
    if known(trained):
        return {**read, "train": trained}, "as logged"
    return {**read, "train": both}, "prompt + sampled: not logged"


def _lacking(llm: str | None, method: Method, tokens: Mapping[str, float]) -> str:
    if not method.name:
        return "its method is not known: name its algorithm in the run details"
    if not llm:
        return "its model is not known: choose it in the run details"
    missing = [kind for kind, value in tokens.items() if not known(value)]
    if missing:
        words = {
            "prefill": "prompt",
            "cached_prefill": "cached prompt",
            "sample": "sampled",
            "train": "trained",
        }
        return f"no file tells its {listing([words[m] for m in missing])} tokens"
    return "" if any(tokens.values()) else "no file tells its tokens"


def _own_row(row: Row) -> Row:
    """What the run cost by its own basis, as a row beside the offers."""
    return {
        "run": row["run"], "basis": row["basis"] or "not known", "offer": "this run", "provider": "",
        "method": row["method"], "tuning": "", "usd": row["usd"], "usd_low": row["usd_low"],
        "usd_high": row["usd_high"], "ratio_to_run": 1.0 if known(row["usd"]) else NAN, "comparable": True,
        "why_not": "" if known(row["usd"]) else "its own cost is not known", "failed_jobs_billed": "yes",
        "as_of": "", "conditions": "all attempts; judges and sandboxes are a cost beside it",
        "status": "", "source": "", "price_ids": "",
    }  # fmt: skip


def _offer_row(own: Row, wanted: Wanted, offer: Offer) -> Row:
    usd, hours = offer.usd, number(own["gpu_hours"])
    rate = ratio(number(own["usd"]), hours)
    tokens = number(own["tok_all"])
    by_token = offer.comparable and offer.basis == METERED and known(usd) and usd > 0
    parts = dict(offer.parts)
    parts["prefill"] = parts.get("prefill", 0.0) + parts.pop("cached_prefill", 0.0) if parts else NAN
    return {
        "run": own["run"], "basis": offer.basis, "offer": offer.label, "provider": offer.provider,
        "method": wanted.method, "tuning": offer.tuning, "usd": usd, "usd_low": offer.low,
        "usd_high": offer.high, **{f"{kind}_usd": value for kind, value in parts.items()},
        "ratio_to_run": ratio(usd, number(own["usd"])),
        "breakeven_usd_per_gpu_h": usd / hours if by_token and hours > 0 else NAN,
        "breakeven_tok_per_gpu_h": tokens * rate / usd if by_token and known(rate) else NAN,
        "comparable": offer.comparable, "why_not": offer.why_not,
        "failed_jobs_billed": offer.failed_jobs_billed, "as_of": offer.as_of, "conditions": offer.conditions,
        "status": offer.status, "source": offer.source, "price_ids": ", ".join(offer.price_ids),
    }  # fmt: skip


def _cheapest(rows: list[Row], basis: str = METERED) -> Row | None:
    """The offer of that basis that is lowest against its run; None when none can be compared."""
    found = [
        r for r in rows if r["offer"] != "this run" and r["comparable"] and known(number(r["ratio_to_run"]))
    ]
    of_basis = [r for r in found if r["basis"] == basis]
    return min(of_basis, key=lambda r: (r["ratio_to_run"], r["run"], r["offer"]), default=None)


def _why_none(used: list[Used]) -> str:
    lacks = [f"{one.row['run']}: {one.row['lacking']}" for one in used if one.row["lacking"]]
    return listing(lacks, 2) if lacks else "none lists their method and model"


def _of(ratio: float) -> str:
    """A ratio as words before its base: `62 % of`, `2.25 times`."""
    return f"{percent(ratio)} of" if ratio < 1 else f"{digits3(ratio)} times"


def _answer(used: list[Used], best: Row | None, rented: Row | None) -> str:
    if best is None:
        head = f"No service bill by the token can be set beside these runs: {_why_none(used)}."
        if rented is None:
            return head
        return (
            f"{head} The GPU-hours of {rented['run']} would cost {money(rented['usd'])} at {rented['offer']} "
            f"({rented['as_of'] or 'undated'}), {_of(rented['ratio_to_run'])} what they cost that run."
        )
    run = next(one.row for one in used if one.row["run"] == best["run"])
    part = f"{money(best['usd'])} at {best['offer']} ({best['as_of'] or 'undated'}"
    billed = {"yes": "failed jobs billed", "no": "failed jobs not billed"}
    part += f", {billed.get(best['failed_jobs_billed'], 'failed jobs: not stated')})"
    text_ = (
        f"The {count(run['tok_all'])} tokens of {run['run']} cost {money(run['usd'])} by {run['basis']} and "
        f"would cost {part}, {_of(best['ratio_to_run'])} it"
    )
    if known(number(best["breakeven_usd_per_gpu_h"])):
        text_ += f"; equal at {money(best['breakeven_usd_per_gpu_h'])} a GPU-hour"
    others = sum(1 for one in used if one.wanted is not None) - 1
    return f"{text_}." + (f" {others} more runs are in the table." if others > 0 else "")


def _assumptions(offers: list[Offer]) -> list[Assumption]:
    found = {price.price_id: price for offer in offers for price in offer.rows}
    return [
        Assumption(
            f"{p.provider}, {p.kind.replace('_', ' ')} ({p.price_id})",
            p.value if p.value is not None else f"{p.low:g} to {p.high:g}", p.unit, p.status, p.source,
            p.as_of,
        )
        for _, p in sorted(found.items())
    ]  # fmt: skip


def _notices(used: list[Used], offers: list[Offer]) -> list[Notice]:
    out = [
        Notice("not_compared", f"{one.row['run']} is not set beside services: {one.row['lacking']}.", "")
        for one in used
        if one.row["lacking"]
    ]
    if any(offer.tuning == "lora" for offer in offers):
        words = "LoRA prices stand beside runs whose tuning no file tells: a full fine-tune is other work."
        out.append(Notice("tuning_not_known", words, "services"))
    if any(offer.failed_jobs_billed in ("unknown", "partial") for offer in offers):
        words = (
            "Where a page does not say whether failed jobs are billed, the range starts at the tokens of the "
            "surviving steps and ends at those of every attempt."
        )
        out.append(Notice("failed_jobs_unknown", words, "services"))
    inferred = [
        one.row["run"] for one in used if one.wanted and one.row["train_basis"].startswith("prompt +")
    ]
    if inferred:
        words = f"Trained tokens of {listing(inferred)} are not logged: prompt + sampled tokens are taken."
        out.append(Notice("trained_tokens_inferred", words, "services"))
    if any(one.wanted is not None and one.row["usd_beside"] > 0 for one in used):
        words = "Judges and sandboxes are left out of both sides: a service bill does not replace them."
        out.append(Notice("beside_services", words, "services"))
    return out


def price_table(book: Iterable[ServicePrice]) -> pd.DataFrame:
    """All prices and billing rules of services."""
    names = [
        "provider", "methods", "tuning", "model", "kind", "context", "value", "low", "high", "unit",
        "conditions", "failed_jobs_billed", "as_of", "status", "source", "note", "price_id",
    ]  # fmt: skip
    rows = [{**vars(p), "methods": ", ".join(p.methods)} for p in book]
    return table(rows, names, ["value", "low", "high"])
