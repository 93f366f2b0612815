"""What a service that is priced by the token charges: prefill, sampling and training, each by the million."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

TOKENS_PER_UNIT = 1e6


@dataclass(frozen=True)
class TokenUse:
    """Tokens of a run; `prefill` holds the cached ones too."""

    prefill: float
    sample: float
    train: float
    cached: float = 0.0


@dataclass(frozen=True)
class TokenPrices:
    """USD per million tokens; `cached` is None where the service has no price for cached prompt tokens."""

    prefill: float
    sample: float
    train: float
    cached: float | None = None


@dataclass(frozen=True)
class MeteredUsd:
    """USD by what was metered; `cached` is part of no other figure."""

    prefill: float
    cached: float
    sample: float
    train: float

    @property
    def total(self) -> float:
        """USD of all parts."""
        return math.fsum((self.prefill, self.cached, self.sample, self.train))


def metered_usd(use: TokenUse, prices: TokenPrices) -> MeteredUsd:
    """USD = tokens x price / 1e6 for each kind of token.

    Cached prompt tokens pay their own price, or the full one where there is none. Raises ValueError on
    negative or infinite tokens, on more cached tokens than prompt tokens and on prices that are not above 0.
    """
    for name, tokens in vars(use).items():
        if not math.isfinite(tokens) or tokens < 0:
            raise ValueError(f"{name} tokens must be finite and not negative: {tokens}")
    if use.cached > use.prefill:
        raise ValueError(f"{use.cached} cached tokens are more than the {use.prefill} prompt tokens")
    for name, price in vars(prices).items():
        if price is not None and not price > 0:
            raise ValueError(f"the {name} price must be above 0: {price}")
    at_cached = prices.prefill if prices.cached is None else prices.cached
    return MeteredUsd(
        prefill=(use.prefill - use.cached) * prices.prefill / TOKENS_PER_UNIT,
        cached=use.cached * at_cached / TOKENS_PER_UNIT,
        sample=use.sample * prices.sample / TOKENS_PER_UNIT,
        train=use.train * prices.train / TOKENS_PER_UNIT,
    )


def service_usd(tokens: Mapping[str, float], prices: Mapping[str, float]) -> dict[str, float]:
    """USD by kind for the kinds that are used: `tokens x price / 1e6`; a price of 0 is free.

    Raises ValueError on negative or infinite numbers and when a kind with tokens has no price.
    """
    out = {}
    for kind, count in tokens.items():
        if not (math.isfinite(count) and count >= 0):
            raise ValueError(f"{kind} tokens must be finite and not negative: {count}")
        if count == 0:
            continue
        if kind not in prices:
            raise ValueError(f"{kind} tokens have no price")
        if not (math.isfinite(prices[kind]) and prices[kind] >= 0):
            raise ValueError(f"the {kind} price must be 0 or more: {prices[kind]}")
        out[kind] = count * prices[kind] / TOKENS_PER_UNIT
    return out


def break_even_gpu_usd_per_h(bill_usd: float, gpu_hours: float) -> float:
    """USD a GPU-hour at which a run on GPUs costs what the service bills for the same tokens."""
    if not gpu_hours > 0:
        raise ValueError(f"GPU-hours must be above 0: {gpu_hours}")
    return bill_usd / gpu_hours


def break_even_tokens_per_gpu_h(tokens: float, bill_usd: float, gpu_usd_per_h: float) -> float:
    """Tokens a GPU must process an hour, in the same mix, to cost what the service bills for them."""
    if not bill_usd > 0:
        raise ValueError(f"a bill of {bill_usd} is never undercut")
    return tokens * gpu_usd_per_h / bill_usd
