"""Runs on a hosted service that is paid by the token: no GPUs, dollars from tokens and the price book."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.frames import NAN, Row, add_up, known, number, records, text
from analysis.result import Assumption, Notice
from data.catalogue import Catalogue
from data.catalogue_tokens import TokenPrice, TokenRates
from data.queries import metered as queries
from data.queries.filters import Filters
from data.services import METERED_SERVICES
from data.view import View
from models.metered import TokenPrices, TokenUse, metered_usd

METERED = "metered"
RENT = "rent"
OWN = "own"
_KIND_WORDS = {
    "prefill": "prompt",
    "cached_prefill": "cached prompt",
    "sample": "sampled",
    "train": "trained",
}


@dataclass(frozen=True)
class Metered:
    """`rows`: one an attempt (run, attempt, usd, usd_kept; NaN where model, price or tokens are missing).

    `runs` are all runs on a metered service; `assumptions` their prices and what was taken for trained.
    """

    runs: frozenset[str]
    rows: tuple[Row, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]

    def by_run(self) -> dict[str, dict[str, float]]:
        """usd and usd_kept by run; one missing part makes the sum missing."""
        return add_up(self.rows, lambda row: row["run"], ["usd", "usd_kept"])


def metered_costs(view: View, filters: Filters, runs: list[Row]) -> Metered:
    """Bills of the runs whose framework is a metered service; `runs` are rows with run, framework and llm."""
    hosted = {row["run"]: row for row in runs if text(row["framework"]) in METERED_SERVICES}
    if not hosted:
        return Metered(frozenset(), (), (), ())
    tokens: dict[str, list[Row]] = {run: [] for run in hosted}
    for row in records(queries.tokens(view, filters)):
        if row["run"] in hosted:
            tokens[row["run"]].append(row)
    bills: list[Row] = []
    assumptions: dict[str, Assumption] = {}
    notices: list[Notice] = []
    for run, head in sorted(hosted.items()):
        rates = _rates(view.catalogue, head)
        lacking = _lacking(head, rates, tokens[run])
        if lacking:
            notices.append(Notice("cost_unknown", lacking, run))
        for row in tokens[run]:
            whole, kept = (_usd(row, rates, part) for part in ("", "_kept"))
            bills.append({**row, "usd": whole, "usd_kept": kept})
        if rates is not None and not lacking:
            assumptions |= {price.price_id: _assume(price) for price in rates.rows}
            notices += _inferred(run, tokens[run])
    return Metered(frozenset(hosted), tuple(bills), tuple(assumptions.values()), tuple(notices))


def _rates(catalogue: Catalogue, head: Row) -> TokenRates | None:
    llm = text(head["llm"])
    return catalogue.token_rates(str(head["framework"]), llm) if llm else None


def _lacking(head: Row, rates: TokenRates | None, rows: list[Row]) -> str:
    """The sentence that says why there are no dollars; empty when there are."""
    run, service = head["run"], METERED_SERVICES[str(head["framework"])]
    silent = [row["attempt"] for row in rows if not known(_trained(row, ""))]
    if len(silent) == len(rows):
        return f"{run} has no cost: {service} is paid by the token and no file tells its tokens."
    if not text(head["llm"]):
        return f"{run} has no cost: {service} is paid by the token, so choose its model in the run details."
    if rates is None:
        return f"{run} has no cost: the price book has no token price of {service} for {head['llm']}."
    if silent:
        return f"{run} has no cost: no file tells the tokens of its attempt {silent[0]}."
    return ""


def _trained(row: Mapping[str, object], part: str) -> float:
    """Tokens of the training pass: as logged, else prompt + generated (supervised: all tokens)."""
    logged, total = number(row[f"tok_trained{part}"]), number(row[f"tok_total{part}"])
    both = number(row[f"tok_prompt{part}"]) + number(row[f"tok_gen{part}"])
    if row["supervised"]:
        return total if known(total) else logged
    return logged if known(logged) else both if known(both) else total


def _usd(row: Row, rates: TokenRates | None, part: str) -> float:
    if rates is None:
        return NAN
    trained = _trained(row, part)
    prompt, sampled = number(row[f"tok_prompt{part}"]), number(row[f"tok_gen{part}"])
    if row["supervised"]:
        prompt = sampled = 0.0
    if not (known(trained) and known(prompt) and known(sampled)):
        return NAN
    cached = number(row[f"tok_cached{part}"])
    use = TokenUse(prompt, sampled, trained, min(cached, prompt) if known(cached) else 0.0)
    cached_price = rates.cached.value if rates.cached else None
    prices = TokenPrices(rates.prefill.value, rates.sample.value, rates.train.value, cached_price)
    return metered_usd(use, prices).total


def _assume(price: TokenPrice) -> Assumption:
    service = METERED_SERVICES[price.service]
    kind = _KIND_WORDS[price.kind]
    return Assumption(
        name=f"{METERED}: {service} price of {kind} tokens, {price.model} ({price.price_id})",
        value=price.value,
        unit=price.unit,
        status=price.status,
        source=price.source,
        date=price.as_of,
    )


def _inferred(run: str, rows: list[Row]) -> list[Notice]:
    out = []
    if any(not row["supervised"] and not known(number(row["tok_trained"])) for row in rows):
        words = (
            f"Trained tokens of {run} are not logged: its bill takes prompt + generated tokens for them, an "
            "upper bound where turns of one episode share their prompt."
        )
        out.append(Notice("trained_tokens_inferred", words, run))
    return out
