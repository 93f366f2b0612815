"""What a metric's definition is made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """One metric: `id` as in Figure.name, formula, unit, cost boundary, how its interval is made."""

    id: str
    name: str
    formula: str
    unit: str
    boundary: str
    interval: str
