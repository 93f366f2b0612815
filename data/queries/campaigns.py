"""What campaigns are made of: attempts with their lineage, clocks of their steps, saved checkpoints."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, Filters
from data.view import View

_EVERY = Filters().parameters()

_ATTEMPTS = f"""
with recursive {PICKED}, {LINEAGE},
pools as (
  select run, attempt, min(started_at) as started_at,
         case when count(*) = count(ended_at) then max(ended_at) end as ended_at
    from allocations where started_at is not null group by run, attempt
),
saved as (
  select run, attempt, max(step) as step from checkpoints where step is not null group by run, attempt
),
followed as (select run, max(place) as last_place from prev group by run)
select t.run, t.attempt, coalesce(t.status, 'unknown') as status, t.cause,
       least(t.started_at, p.started_at) as started_at,
       case when t.ended_at is not null then greatest(t.ended_at, p.ended_at)
            when coalesce(t.status, '') <> 'running' then p.ended_at end as ended_at,
       k.keep_step, greatest(t.last_checkpoint_step, s.step) as saved_step,
       v.place < f.last_place as followed
  from attempts t join kept k using (run, attempt) join followed f using (run)
  join prev v using (run, attempt)
  left join pools p using (run, attempt) left join saved s using (run, attempt)
 order by t.run, t.attempt
"""

_STEPS = f"""
with {PICKED}, {ONE_STEP}
select o.run, o.attempt, o.step, o.step_s,
       epoch(coalesce(o.ts, t.started_at + to_microseconds((o.elapsed_s * 1e6)::bigint))) as end_s
  from one_step o left join attempts t using (run, attempt)
 order by o.run, o.attempt, o.step
"""

_RUNS = """
select r.run, coalesce(r.campaign, '') as campaign, coalesce(r.synthetic, false) as synthetic
  from runs r order by r.run
"""

_CAMPAIGNS = """
select campaign, c.team, c.shipped_checkpoint, c.note
  from (select campaign from campaigns union select campaign from runs where campaign is not null)
  left join campaigns c using (campaign) order by campaign
"""


def attempts(view: View) -> pd.DataFrame:
    """One row an attempt: status, cause, start and end with those of its pools, keep_step (last step on the
    surviving lineage), saved_step (last step in a checkpoint), followed (a later attempt exists).
    """
    return view.frame(_ATTEMPTS, _EVERY)


def step_clocks(view: View) -> pd.DataFrame:
    """One row a step: run, attempt, step, step_s, end_s (seconds since 1970, null without a clock)."""
    return view.frame(_STEPS, _EVERY)


def runs(view: View) -> pd.DataFrame:
    """Runs with their campaign ('' when none) and whether they are made up."""
    return view.frame(_RUNS)


def campaigns(view: View) -> pd.DataFrame:
    """Every campaign that a table or a run names: campaign, team, shipped_checkpoint, note."""
    return view.frame(_CAMPAIGNS)
