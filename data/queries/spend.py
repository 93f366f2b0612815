"""What was allocated, how much of it survived, and where its seconds went."""

import pandas as pd

from data.queries.filters import ALL_STEPS, LINEAGE, ONE_STEP, PICKED, STEP_CLOCK, Filters
from data.queries.sums import total
from data.resumption import ASSUMED
from data.view import View

_ATTEMPTS = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP},
totals as (
  select o.run, o.attempt, count(*) as steps, count(*) filter (where o.step <= k.keep_step) as steps_kept,
         {total("o.step_s")} as step_s, {total("o.step_s", "o.step <= k.keep_step")} as step_s_kept,
         {total("o.rollouts")} as rollouts, {total("o.rollouts", "o.step <= k.keep_step")} as rollouts_kept,
         {total("o.tok_gen")} as tok_gen, {total("o.tok_gen", "o.step <= k.keep_step")} as tok_gen_kept,
         count(o.rollouts) as rollouts_steps,
         count(o.rollouts) filter (where o.step <= k.keep_step) as rollouts_steps_kept,
         count(o.tok_gen) as tok_gen_steps, count(o.tok_gen) filter (where o.step <= k.keep_step) as
           tok_gen_steps_kept,
         max(o.step) as last_step
    from one_step o join kept k using (run, attempt) group by o.run, o.attempt
)
select t.run, t.attempt, coalesce(t.status, 'unknown') as status, t.cause, t.started_at, t.ended_at,
       t.elapsed_s, t.elapsed_basis, t.resumed_from_step, t.resumed_from_attempt,
       coalesce({ASSUMED}, false) as resumed_assumed, k.keep_step,
       case when k.keep_step = {ALL_STEPS} then 1.0
            when k.keep_step = -{ALL_STEPS} then 0.0
            when k.keep_step >= 0 and x.step_s > 0 then coalesce(x.step_s_kept, 0) / x.step_s end as
              kept_frac,
       x.* exclude (run, attempt)
  from attempts t join kept k using (run, attempt) left join totals x using (run, attempt)
 order by t.run, t.attempt
"""

_ALLOCATIONS = f"""
with {PICKED}
select a.run, a.attempt, coalesce(a.pool, 'all') as pool, coalesce(a.role, 'colocated') as role, a.platform,
       a.gpus, a.cores, coalesce(a.seconds, t.elapsed_s) as seconds,
       case when basis = 'clock' and not stamped then 'log_clock' else basis end as seconds_basis,
       a.price_id, a.source
  from (select l.*, case when l.seconds is null then t.elapsed_basis else l.seconds_basis end as basis,
               (l.started_at is not null and l.ended_at is not null)
               or (t.started_at is not null and t.ended_at is not null) as stamped
          from allocations l left join attempts t using (run, attempt)) a
  join picked using (run) left join attempts t using (run, attempt)
 order by all
"""

_PHASES = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {STEP_CLOCK}
select t.run, t.attempt, t.pool, t.phase, t.kind, {total("t.seconds")} as seconds,
       coalesce({total("t.seconds", "t.step <= k.keep_step")}, 0) as seconds_kept
  from timer t join kept k using (run, attempt) group by all order by all
"""

_STEP_SECONDS = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {STEP_CLOCK}
select s.run, s.attempt, {total("s.seconds")} as seconds,
       coalesce({total("s.seconds", "s.step <= k.keep_step")}, 0) as seconds_kept
  from span s join kept k using (run, attempt) where s.seconds is not null group by all order by all
"""

_BOOKED = f"""
with {PICKED},
ours as (select distinct run, campaign from runs join picked using (run)),
rows as (
  select c.run, coalesce(c.campaign, o.campaign) as campaign, coalesce(c.bucket, 'other') as bucket,
         coalesce(c.effective_cost, c.billed_cost) as amount, coalesce(c.currency, 'USD') as currency,
         lower(coalesce(c.category, '')) = 'credit' as credit
    from costs c left join ours o on o.run = c.run
   where c.run in (select run from picked)
      or ((c.run is null or c.run not in (select run from runs))
          and c.campaign in (select campaign from ours where campaign is not null))
  union all
  select o.run, o.campaign, 'evals', e.usd, 'USD', false
    from evals e left join checkpoints k using (checkpoint) join ours o on o.run = coalesce(e.run, k.run)
   where e.usd is not null
)
select run, campaign, bucket, currency, credit, {total("amount")} as amount, count(*) as rows from rows
 where amount is not null group by all order by all
"""

_UNBOOKED = f"""
with {PICKED},
made_up as (
  select upload_id from uploads
   where synthetic and not exists (select 1 from runs join picked using (run) where runs.synthetic)
),
loose as (
  select 'evals' as kind, coalesce(e.checkpoint, 'evals') as place, e.usd as amount, 'USD' as currency,
         e.upload_id
    from evals e left join checkpoints k using (checkpoint)
   where e.usd is not null and coalesce(e.run, k.run) is null
  union all
  select if(lower(coalesce(c.category, '')) = 'credit', 'credits', 'costs'), coalesce(c.campaign, c.run, ''),
         coalesce(c.effective_cost, c.billed_cost), upper(coalesce(c.currency, 'USD')), c.upload_id
    from costs c
   where coalesce(c.bucket, 'other') <> 'gpu'
     and (c.run is null or c.run not in (select run from runs))
     and (c.campaign is null or c.campaign not in (select campaign from runs where campaign is not null))
)
select kind, place, currency, {total("amount")} as amount, count(*) as rows from loose
 where amount is not null and upload_id not in (select upload_id from made_up) group by all order by all
"""

_JOB_NOTES = f"""
with {PICKED}
select distinct run, note from job_attempts join picked using (run) where note is not null order by all
"""

_RUNS = f"""
with {PICKED}
select r.run, coalesce(r.campaign, '') as campaign, r.framework, r.algorithm, coalesce(r.mode, '') as mode,
  r.llm,
       coalesce(r.synthetic, false) as synthetic, c.shipped_checkpoint
  from runs r join picked using (run) left join campaigns c on c.campaign = r.campaign
 order by r.run
"""


def runs(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run: run, campaign ('' when none), framework, algorithm, mode, llm, synthetic,
    shipped_checkpoint.
    """
    return view.frame(_RUNS, filters.parameters())


def attempts(view: View, filters: Filters) -> pd.DataFrame:
    """One row an attempt: status, times, `keep_step`, `kept_frac` (share of its step seconds that survived,
    null when it cannot be split), and sums over its steps: seconds, tokens, rollouts; `_kept` counts the
    lineage only.
    """
    return view.frame(_ATTEMPTS, filters.parameters())


def allocations(view: View, filters: Filters) -> pd.DataFrame:
    """One row an allocation: run, attempt, pool, role, platform, gpus, cores, seconds, seconds_basis,
    price_id. The basis is `clock` only with a start and an end; a clock without them is `log_clock`.
    """
    return view.frame(_ALLOCATIONS, filters.parameters())


def phase_seconds(view: View, filters: Filters) -> pd.DataFrame:
    """Seconds by run, attempt, pool (as the file names it), phase and kind; `seconds_kept` on the lineage."""
    return view.frame(_PHASES, filters.parameters())


def step_seconds(view: View, filters: Filters) -> pd.DataFrame:
    """Seconds inside steps by attempt: step_s, or the longest pool clock where a step has no step_s."""
    return view.frame(_STEP_SECONDS, filters.parameters())


def booked(view: View, filters: Filters) -> pd.DataFrame:
    """Evals and cost rows by run (null: booked to the campaign), campaign, bucket, currency, and whether they
    are credits.
    """
    return view.frame(_BOOKED, filters.parameters())


def job_notes(view: View, filters: Filters) -> pd.DataFrame:
    """Sentences (run, note) about what could not be told of a run's scheduler jobs and its attempts."""
    return view.frame(_JOB_NOTES, filters.parameters())


def unbooked(view: View, filters: Filters) -> pd.DataFrame:
    """Costs that no run and no run's campaign bears: kind (evals of baselines, costs, credits), place
    (checkpoint or campaign, '' when the row names neither), currency, amount, rows. The bundled
    example's own count only where one of its runs is picked.
    """
    return view.frame(_UNBOOKED, filters.parameters())
