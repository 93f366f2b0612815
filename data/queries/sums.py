"""Sums that do not depend on the order of rows: parallel sums of floats differ in their last digits."""

NANO = "decimal(38, 9)"


def total(value: str, where: str = "") -> str:
    """SQL for the sum of a DOUBLE expression, added exactly in units of 1e-9 and returned as DOUBLE.

    NULL when there is no row. A value beyond 1e29 or not finite counts as missing, as NULL does.
    """
    return f"({_exact(value, where)})::double"


def mean(value: str, where: str = "") -> str:
    """SQL for the mean of a DOUBLE expression over its known values; NULL when there is none."""
    return f"({_exact(value, where)} / nullif({_count(value, where)}, 0))::double"


def _exact(value: str, where: str) -> str:
    return f"sum(try_cast({value} as {NANO})){_filter(where)}"


def _count(value: str, where: str) -> str:
    return f"count(try_cast({value} as {NANO})){_filter(where)}"


def _filter(where: str) -> str:
    return f" filter (where {where})" if where else ""
