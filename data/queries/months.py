"""Months that hold a bill or allocations: what a month picker can offer."""

import pandas as pd

from data.view import View

_MONTHS = """
with billed as (
  select date_trunc('month', coalesce(billing_start, charge_start, day::timestamp)) as month,
         fsum(billed_cost) as billed, count(distinct coalesce(line, 0)) as lines
    from costs where coalesce(currency, 'USD') = 'USD' group by 1
), held as (
  select distinct unnest(generate_series(date_trunc('month', start), stop, interval 1 month)) as month
    from (select coalesce(a.started_at, t.started_at) as start, coalesce(a.ended_at, t.ended_at) as stop
            from allocations a left join attempts t using (run, attempt))
   where start is not null and stop >= start
)
select strftime(month, '%Y-%m') as month, b.billed as billed_usd, b.month is not null as has_bill
  from billed b full join held h using (month) where month is not null order by month desc
"""


def months(view: View) -> pd.DataFrame:
    """One row a UTC month, newest first: month (YYYY-MM), billed_usd (null without a bill), has_bill."""
    return view.frame(_MONTHS)
