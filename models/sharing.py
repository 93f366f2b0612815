"""Declared rules about who bears a shared cost: exact parts in decimal, with the rest that no one bears."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from models.cents import FULL, apportion, exact, total

Method = Literal["equal", "gpu_hours", "fixed"]
METHODS: tuple[Method, ...] = ("equal", "gpu_hours", "fixed")


@dataclass(frozen=True)
class Split:
    """How one amount is shared: a part for each target and `rest`; together they are the amount exactly."""

    parts: Mapping[str, Decimal]
    rest: Decimal


def fixed_shares(shares: Sequence[Decimal]) -> None:
    """Raise ValueError unless every share is above 0 and together they are at most 1."""
    if any(not share.is_finite() or share <= 0 for share in shares):
        raise ValueError("a fixed share is above 0")
    if total(list(shares)) > 1:
        raise ValueError(f"fixed shares are {total(list(shares))} together, more than 1")


def share_out(
    amount: Decimal,
    method: Method,
    targets: Sequence[str],
    *,
    fixed: Mapping[str, Decimal] | None = None,
    used: Mapping[str, float] | None = None,
) -> Split:
    """Split `amount` over targets: equally, by GPU-hours that each used, or by fixed shares of at most 1.

    What fixed shares leave, and everything where no target used anything (`used` all 0), is the rest. Parts
    are exact to 1e-12 and add up with the rest to the amount.
    """
    if not targets or len(set(targets)) != len(targets):
        raise ValueError("a rule names each target once, and at least one")
    if method == "equal":
        weights, rest = [Decimal(1)] * len(targets), Decimal(0)
    elif method == "gpu_hours":
        weights, rest = [exact((used or {}).get(name, 0.0)) for name in targets], Decimal(0)
        if not any(weights):
            return Split(dict.fromkeys(targets, Decimal(0)), amount)
    elif method == "fixed":
        weights = [(fixed or {})[name] for name in targets]
        fixed_shares(weights)
        rest = Decimal(1) - total(weights)
    else:
        raise ValueError(f"'{method}' is no way to share a cost")
    amounts = apportion(amount, [*weights, rest], FULL)
    return Split(dict(zip(targets, amounts[:-1], strict=True)), amounts[-1])
