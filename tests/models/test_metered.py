"""Token bills, worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metered import (
    TokenPrices,
    TokenUse,
    break_even_gpu_usd_per_h,
    break_even_tokens_per_gpu_h,
    metered_usd,
    service_usd,
)

PRICES = TokenPrices(prefill=0.5, sample=2.0, train=1.5, cached=0.1)


def test_a_bill_by_hand() -> None:
    """3 M prompt tokens of which 1 M cached, 0.25 M sampled, 4 M trained."""
    bill = metered_usd(TokenUse(prefill=3e6, sample=0.25e6, train=4e6, cached=1e6), PRICES)
    assert (bill.prefill, bill.cached, bill.sample, bill.train) == pytest.approx((1.0, 0.1, 0.5, 6.0))
    assert bill.total == pytest.approx(7.6)


def test_without_a_cached_price_cached_tokens_pay_the_full_one() -> None:
    dear = TokenPrices(prefill=0.5, sample=2.0, train=1.5)
    assert metered_usd(TokenUse(3e6, 0.0, 0.0, 1e6), dear).total == pytest.approx(1.5)


def test_supervised_training_pays_for_trained_tokens_only() -> None:
    assert metered_usd(TokenUse(0.0, 0.0, 2e6), PRICES).total == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("use", "prices"),
    [
        (TokenUse(-1.0, 0.0, 0.0), PRICES),
        (TokenUse(1.0, math.inf, 0.0), PRICES),
        (TokenUse(1.0, 0.0, math.nan), PRICES),
        (TokenUse(1.0, 0.0, 0.0, cached=2.0), PRICES),
        (TokenUse(1.0, 0.0, 0.0), TokenPrices(0.0, 1.0, 1.0)),
        (TokenUse(1.0, 0.0, 0.0), TokenPrices(1.0, 1.0, 1.0, cached=-0.1)),
    ],
)
def test_nonsense_is_refused(use: TokenUse, prices: TokenPrices) -> None:
    with pytest.raises(ValueError):
        metered_usd(use, prices)


_tokens = st.floats(0, 1e13)
_price = st.floats(1e-4, 1e3)


@given(st.tuples(_tokens, _tokens, _tokens), st.tuples(_price, _price, _price))
def test_a_bill_grows_with_tokens_and_scales_with_prices(
    tokens: tuple[float, float, float], price: tuple[float, float, float]
) -> None:
    bill = metered_usd(TokenUse(*tokens), TokenPrices(*price)).total
    more = metered_usd(TokenUse(*(2 * t for t in tokens)), TokenPrices(*price)).total
    assert more == pytest.approx(2 * bill)
    assert bill >= 0


def test_a_service_bill_by_hand() -> None:
    """2 M prompt, 1 M sampled, 3 M trained tokens; supervised tuning needs a training price alone."""
    prices = {"prefill": 0.2, "sample": 0.6, "train": 1.0}
    bill = service_usd({"prefill": 2e6, "sample": 1e6, "train": 3e6}, prices)
    assert bill == {"prefill": pytest.approx(0.4), "sample": pytest.approx(0.6), "train": pytest.approx(3.0)}
    assert service_usd({"prefill": 0.0, "train": 3e6}, {"train": 0.5}) == {"train": pytest.approx(1.5)}
    assert service_usd({"train": 1e6}, {"train": 0.0}) == {"train": 0.0}


def test_a_kind_without_a_price_is_refused() -> None:
    for tokens in ({"train": 1.0, "sample": 1.0}, {"train": -1.0}, {"train": math.nan}):
        with pytest.raises(ValueError):
            service_usd(tokens, {"train": 1.0})


def test_break_even_by_hand() -> None:
    """A bill of 40 USD for 8 M tokens that took 10 GPU-hours: 4 USD a GPU-hour; at 2 USD 0.4 M tokens."""
    assert break_even_gpu_usd_per_h(40, 10) == 4
    assert break_even_tokens_per_gpu_h(8e6, 40, 2.0) == pytest.approx(4e5)
    assert break_even_tokens_per_gpu_h(8e6, 40, 4.0) == pytest.approx(8e6 / 10)
