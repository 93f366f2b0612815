"""Rollouts by step: how many, how fast, how long, how stale."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, Filters
from data.queries.sums import mean, total
from data.view import View

_GPUS = f"""
gpu as (
  select run, attempt, {total("gpus")} as gpus,
         {total("gpus", "role in ('rollout', 'colocated')")} as gpus_rollout
    from (select run, attempt, pool, min(role) as role, max(gpus) as gpus
            from allocations join picked using (run)
           where coalesce(role, '') <> 'sandbox' and gpus > 0 group by run, attempt, pool)
   group by run, attempt
)"""

_MORE = """
more as (
  select s.run, s.attempt, s.step, max(s.len_mean) as len_mean, max(s.len_p50) as len_p50, max(s.len_p95) as
    len_p95,
         max(s.len_max) as len_max, max(s.truncated_frac) as truncated_frac, max(s.staleness) as staleness,
         max(s.reward_mean) as reward_mean, max(s.mfu_frac) as mfu_frac
    from steps s join picked using (run) group by all
)"""

_BY_STEP = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {_GPUS}, {_MORE},
placed as (
  select o.*, m.* exclude (run, attempt, step), g.gpus, g.gpus_rollout, coalesce(o.step <= k.keep_step,
    true) as kept,
         ((row_number() over w - 1) * least($bins, n.n)) // n.n as bin
    from one_step o join more m using (run, attempt, step) left join gpu g using (run, attempt)
    left join kept k using (run, attempt)
    join (select run, count(*) as n from one_step group by run) n using (run)
  window w as (partition by o.run order by o.attempt, o.step)
)
select run, bin, min(attempt) as attempt, arg_min(step, (attempt, step)) as step_first,
       arg_max(step, (attempt, step)) as step_last, count(*) as steps, bool_and(kept) as kept,
       {mean("step_s")} as step_s, {mean("rollouts")} as rollouts, {mean("tok_gen")} as tok_gen,
       {total("rollouts", "step_s > 0")} / nullif({total("step_s", "rollouts is not null")}, 0)
         as rollouts_per_s,
       min(rollouts / nullif(step_s, 0)) as rollouts_per_s_min,
       max(rollouts / nullif(step_s, 0)) as rollouts_per_s_max,
       {total("tok_gen", "step_s > 0")} / nullif({total("step_s", "tok_gen is not null")}, 0) as
         tok_per_s,
       min(tok_gen / nullif(step_s, 0)) as tok_per_s_min, max(tok_gen / nullif(step_s, 0)) as tok_per_s_max,
       {total("tok_gen", "step_s > 0 and gpus > 0")}
         / nullif({total("step_s * gpus", "tok_gen is not null")}, 0) as tok_per_s_per_gpu,
       {total("tok_gen", "step_s > 0 and gpus_rollout > 0")}
         / nullif({total("step_s * gpus_rollout", "tok_gen is not null")}, 0) as
           tok_per_s_per_rollout_gpu,
       {mean("len_mean")} as len_mean, {mean("len_p50")} as len_p50, {mean("len_p95")} as len_p95,
       max(len_max) as len_max,
       {mean("truncated_frac")} as truncated_frac, max(truncated_frac) as truncated_frac_max,
       {total("dropped")} as dropped, {mean("staleness")} as staleness, max(staleness) as staleness_max,
       {mean("reward_mean")} as reward_mean, min(reward_mean) as reward_mean_min, max(reward_mean) as
         reward_mean_max,
       {mean("correct / nullif(rollouts, 0)")} as correct_frac
  from placed group by run, bin order by run, bin
"""

_TOTALS = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {_GPUS}, {_MORE}
select o.run, count(*) as steps, {total("o.step_s")} as step_s, {total("o.rollouts")} as rollouts,
       count(o.rollouts) as steps_rollouts,
       {total("o.tok_gen")} as tok_gen, {total("o.tok_prompt")} as tok_prompt,
       {total("o.tok_total")} as tok_total, {total("o.dropped")} as dropped,
       {total("o.rollouts", "o.step_s > 0")} / nullif({total("o.step_s", "o.rollouts is not null")}, 0)
         as rollouts_per_s,
       {total("o.tok_gen", "o.step_s > 0")} / nullif({total("o.step_s", "o.tok_gen is not null")}, 0)
         as tok_per_s,
       {total("o.tok_gen", "o.step_s > 0 and g.gpus > 0")}
         / nullif({total("o.step_s * g.gpus", "o.tok_gen is not null")}, 0) as tok_per_s_per_gpu,
       {total("o.tok_gen", "o.step_s > 0 and g.gpus_rollout > 0")}
         / nullif({total("o.step_s * g.gpus_rollout", "o.tok_gen is not null")}, 0) as
           tok_per_s_per_rollout_gpu,
       max(g.gpus) as gpus, max(g.gpus_rollout) as gpus_rollout,
       coalesce({total("m.len_mean * o.rollouts")} / nullif({total("o.rollouts", "m.len_mean is not null")},
         0),
                {mean("m.len_mean")}) as len_mean,
       max(m.len_max) as len_max, {mean("m.truncated_frac")} as truncated_frac,
       {mean("m.staleness")} as staleness, {mean("m.mfu_frac")} as mfu_frac
  from one_step o join more m using (run, attempt, step) left join gpu g using (run, attempt)
 group by o.run order by o.run
"""

_REPORTED = f"""
with {PICKED}
select s.run, coalesce(s.throughput_basis, 'basis not named') as basis, median(s.throughput) as
  throughput_median,
       min(s.throughput) as throughput_min, max(s.throughput) as throughput_max, count(*) as steps
  from steps s join picked using (run) where s.throughput is not null group by all order by all
"""


def by_step(view: View, filters: Filters, bins: int) -> pd.DataFrame:
    """Rates, lengths and losses by run and bin of consecutive steps, with the least and the most."""
    return view.frame(_BY_STEP, {**filters.parameters(), "bins": bins})


def totals(view: View, filters: Filters) -> pd.DataFrame:
    """The same over all logged steps of a run; `gpus` are those of all pools, `gpus_rollout` of rollout
    pools.
    """
    return view.frame(_TOTALS, filters.parameters())


def reported(view: View, filters: Filters) -> pd.DataFrame:
    """Throughput as files report it, by run and basis; two bases are never compared."""
    return view.frame(_REPORTED, filters.parameters())
