"""Months that hold a bill or allocations: what a month picker can offer."""

import pandas as pd

from data.view import View

_MONTHS = """
with made_up as (select upload_id from uploads where synthetic),
billed as (
  select unnest(generate_series(date_trunc('month', coalesce(billing_start, charge_start, day::timestamp)),
                                case when billing_start is null and charge_end > charge_start
                                     then charge_end - interval 1 microsecond
                                     else coalesce(billing_start, charge_start, day::timestamp) end,
                                interval 1 month)) as month,
         upload_id not in (select upload_id from made_up) as own
    from costs where billed_cost is not null or effective_cost is not null
), held as (
  select unnest(generate_series(date_trunc('month', start),
                                case when stop > start then stop - interval 1 microsecond else stop end,
                                interval 1 month)) as month, own
    from (select coalesce(a.started_at, t.started_at) as start, coalesce(a.ended_at, t.ended_at) as stop,
                 not coalesce(r.synthetic, false) as own
            from allocations a left join attempts t using (run, attempt) left join runs r using (run))
   where start is not null and stop >= start
), found as (
  select month, own, true as bill from billed union all select month, own, false from held
)
select strftime(month, '%Y-%m') as month, bool_or(bill) as has_bill, bool_or(own) as has_own,
       bool_or(bill and own) as has_own_bill, bool_or(not own) as has_example
  from found where month is not null group by month order by month desc
"""


def months(view: View) -> pd.DataFrame:
    """One row a UTC month that a bill or an allocation touches, newest first: month (YYYY-MM), has_bill,
    has_own (a bill or a run that is not the example's), has_own_bill, has_example.
    """
    return view.frame(_MONTHS)
