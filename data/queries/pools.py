"""What a split of pools reads of a run beside its projection: rollouts thrown away as too old."""

from data.queries.filters import PICKED, Filters
from data.view import View

_DROPPED = f"""
with {PICKED}
select sum(s.dropped) / nullif(sum(s.rollouts) + sum(s.dropped), 0)
  from steps s join picked using (run) where s.dropped is not null and s.rollouts is not null
"""


def dropped_frac(view: View, filters: Filters) -> float | None:
    """Dropped rollouts over those made, 0..1; None where no step logs them."""
    found = view.rows(_DROPPED, filters.parameters())
    return None if not found or found[0][0] is None else float(found[0][0])
