"""Shares of draws as chances: that all or none of so many did is no certainty."""

CHANCES = frozenset({"cadence_p_finish", "forecast_over"})
"""Figures that are shares of draws."""
LEAST_CHANCE = 0.001


def bound(name: str, share: float | None, n: int | None) -> tuple[str, float] | None:
    """Return ('>', 0.999) or ('<', 0.001) where draws tell no more of a chance, None where they do.

    With n draws three of n is the 95 % bound of what none of them showed (rule of three).
    """
    if share is None or name not in CHANCES or not n:
        return None
    least = max(LEAST_CHANCE, 3 / n)
    if share > 1 - least:
        return ">", 1 - least
    return ("<", least) if share < least else None
