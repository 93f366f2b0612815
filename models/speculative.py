"""Speculative decoding as a factor on decode: tokens a verified step yields and what the step costs."""

from dataclasses import dataclass, replace

from models.decode import DecodeFactors, DecodeLoad, decode_step
from models.machine import Rates
from models.shapes import Llm, Num, num, where


def tokens_per_step(acceptance: Num, drafted: Num) -> Num:
    """Expected tokens of a verified step: (1 - a^(g+1)) / (1 - a); g + 1 when all drafts are accepted.

    Leviathan et al. 2023, arXiv 2211.17192, equation 1: each of g drafted tokens is accepted with chance `a`
    (0..1) after all before it, plus one token of the large model.
    """
    a, g = num(acceptance), num(drafted)
    rest = where(a < 1, 1 - a, 1.0)
    return where(a < 1, (1 - a ** (g + 1)) / rest, g + 1)


def acceptance_of(tokens: float, drafted: int) -> float:
    """Acceptance 0..1 behind a mean of tokens a step (bisection). Raises ValueError outside 1..g+1."""
    if not 1 <= tokens <= drafted + 1:
        raise ValueError(f"{tokens} tokens a step cannot come from {drafted} drafted ones")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_per_step(middle, drafted) < tokens else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Speculation:
    """A decode step with drafts: seconds of the parts and tokens it yields a sequence."""

    draft_s: Num
    verify_s: Num
    plain_s: Num
    tokens: Num

    @property
    def step_s(self) -> Num:
        """Seconds per output token of a sequence."""
        return (self.draft_s + self.verify_s) / self.tokens

    @property
    def factor(self) -> Num:
        """Speed-up of decoding: plain step / step with drafts. Below 1: drafts do not pay."""
        return self.plain_s / self.step_s


def speculate(
    llm: Llm,
    load: DecodeLoad,
    rates: Rates,
    factors: DecodeFactors,
    *,
    acceptance: Num,
    drafted: Num,
    draft_step_s: Num,
) -> Speculation:
    """Decode with `drafted` tokens a step: (g x draft + step with g + 1 tokens a sequence) / expected tokens.

    The verifying step reads the cache once but computes g + 1 times as much and touches more experts, so the
    gain falls with the batch. `draft_step_s`: seconds of one draft step. It shortens decode, nothing else.
    """
    verify = decode_step(llm, replace(load, tokens_per_seq=num(drafted) + 1), rates, factors)
    plain = decode_step(llm, load, rates, factors)
    return Speculation(
        draft_s=num(drafted) * draft_step_s,
        verify_s=verify.total_s,
        plain_s=plain.total_s,
        tokens=tokens_per_step(acceptance, drafted),
    )
