"""What a run's numbers say against each other: one row a contradiction, found in SQL."""

import pandas as pd

from data.logs.keymap import load_keymap
from data.queries.filters import ONE_STEP, PICKED, STEP_CLOCK, Filters
from data.queries.sums import total
from data.view import View

COLUMNS = ["run", "attempt", "step", "check_name", "subject", "expected", "found", "steps"]
COUNTERS = ("tok_prompt", "tok_gen", "tok_total", "rollouts")
LEAST_STEPS = 8
SLOW_TIMES = 3

_OF_SEVERAL = "({})".format(
    ", ".join(
        f"'{name}'"
        for name in sorted(
            {r.framework for r in load_keymap() if r.basis == "interval_mean" and r.field == "step_s"}
        )
    )
)
"""Frameworks whose records stand for all steps since the one before: their step seconds are those of all."""

_BASE = f"with {PICKED}, {ONE_STEP}, {STEP_CLOCK}"

_GPUS = f"""
gpu as (
  select run, attempt, {total("gpus")} as gpus from allocations join picked using (run)
   where coalesce(role, '') <> 'sandbox' and gpus > 0
   group by run, attempt having count(*) = count(distinct pool)
),
speed as (
  select s.run, s.attempt, s.step, s.throughput_basis as basis, max(s.throughput) as throughput,
         max(o.tok_total) as tokens, max(o.step_s) as step_s
    from steps s join one_step o using (run, attempt, step)
   where s.throughput > 0 and o.tok_total > 0 and o.step_s > 0
     and (starts_with(s.throughput_basis, 'per_gpu') or starts_with(s.throughput_basis, 'cluster'))
   group by all
),
fit as (
  select run, attempt, step, basis, starts_with(basis, 'per_gpu') as per_gpu, gpus, tokens,
         throughput * step_s as plain, throughput * step_s * gpus as times_gpus
    from speed join gpu using (run, attempt)
),
mistaken as (
  select run, attempt, any_value(per_gpu) as per_gpu, any_value(gpus) as gpus, count(*) as steps,
         median(tokens) as tokens, median(case when per_gpu then times_gpus else plain end) as said,
         median(case when per_gpu then plain else times_gpus end) as other
    from fit group by run, attempt, basis
  having any_value(gpus) > 1.5 and abs(other / tokens - 1) <= 0.1 and abs(said / tokens - 1) > 0.1
)"""

_BY_STEP = f"""
{_BASE}, {_GPUS}
select c.run, c.attempt, c.step, 'phases_exceed_step' as check_name, '' as subject, s.seconds as expected,
       c.phase_s as found, 1 as steps
  from pool_clock c join span s using (run, attempt, step)
 where s.step_s is not null and c.phase_s > 1.01 * s.seconds + 0.5
union all
select f.run, f.attempt, f.step, 'throughput_against_tokens', '', f.tokens,
       case when per_gpu then times_gpus else plain end, 1
  from fit f anti join mistaken m on m.run = f.run and m.attempt = f.attempt and m.per_gpu = f.per_gpu
 where abs(case when per_gpu then times_gpus else plain end / f.tokens - 1) > 0.1
union all
select run, attempt, null, case when per_gpu then 'rate_of_cluster' else 'rate_of_one_gpu' end, '', tokens,
       said, steps from mistaken
 order by 1, 2, 3, 4
"""

_COVERAGE = f"""
{_BASE},
timed as (
  select run, attempt, count(*) as steps, {total("seconds")} as step_sum,
         max(step) - min(step) + 1 as numbers, min(step) as first, max(step) as last
    from span where seconds is not null and step is not null group by all having count(*) >= 2
),
covered as (
  select t.*, case when coalesce(r.framework, '') in {_OF_SEVERAL}
                   then greatest((last - first) / (steps - 1), 1) else 1 end as each
    from timed t join runs r using (run)
),
clocked as (select run, attempt, count(elapsed_s) > 0 as own from one_step group by all),
moments as (
  select run, attempt, step, case when own then elapsed_s else epoch(ts) end as at_s
    from one_step join clocked using (run, attempt)
),
paced as (
  select run, attempt,
         (max(at_s) - min(at_s)) / (arg_max(step, at_s) - arg_min(step, at_s)) as pace_s
    from moments where at_s is not null group by all
  having count(*) >= 3 and arg_max(step, at_s) > arg_min(step, at_s)
)
select c.run, c.attempt, null::bigint as step, 'step_time_against_clock' as check_name, '' as subject,
       coalesce(p.pace_s * c.steps * c.each, a.elapsed_s) as expected, c.step_sum as found, c.steps
  from covered c join attempts a using (run, attempt) left join paced p using (run, attempt)
 where (p.pace_s is not null or a.elapsed_basis in ('clock', 'progress_bar', 'log_clock'))
   and c.numbers <= 1.1 * c.steps * c.each
   and c.step_sum < 0.6 * coalesce(p.pace_s * c.steps * c.each, a.elapsed_s)
union all
select run, attempt, null, 'steps_missing', '', numbers, steps, steps from timed
 where numbers > steps and steps >= {LEAST_STEPS} and numbers < 1.5 * steps
 order by 1, 2, 4
"""

_ORDERED = f"""
{_BASE},
clean as (select run, attempt, step, seconds from span where seconds > 0 and step is not null),
typical as (
  select run, attempt, median(seconds) as usual, count(*) as n from clean group by all
  having count(*) >= {LEAST_STEPS}
),
ranked as (
  select c.*, t.usual, row_number() over (partition by run, attempt order by step) as place
    from clean c join typical t using (run, attempt)
),
steady as (
  select run, attempt, min(place) as place from ranked where seconds <= 1.5 * usual group by all
)
select r.run, r.attempt, min(r.step) as step, 'warm_up_steps' as check_name, '' as subject,
       any_value(r.usual) as expected, {total("r.seconds")} / count(*) as found, count(*) as steps
  from ranked r join steady s on s.run = r.run and s.attempt = r.attempt and r.place < s.place
 where s.place between 2 and 6 group by all
union all
select r.run, r.attempt, r.step, 'slow_steps', '', r.usual, r.seconds, 1
  from ranked r join steady s on s.run = r.run and s.attempt = r.attempt and r.place > s.place
 where r.seconds > {SLOW_TIMES} * r.usual
 order by 1, 2, 3
"""


def by_step(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for phases longer than the step, and rates that do not fit tokens, GPUs and seconds."""
    return view.frame(_BY_STEP, filters.parameters())


def coverage(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for step times that leave most of the clock out, and step numbers that are missing."""
    return view.frame(_COVERAGE, filters.parameters())


def uneven(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for first steps above one and a half times the median, later ones above SLOW_TIMES of it."""
    return view.frame(_ORDERED, filters.parameters())


def warm_up(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for first steps that took more than one and a half times the median."""
    found = uneven(view, filters)
    return found[found["check_name"] == "warm_up_steps"]


def counters(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for per-step counts that rise at every step as a running total would.

    `expected` is the first value, `found` the last: a total of n equal parts ends n times as high as it began
    """
    one = " union all ".join(
        f"""
        select run, attempt, null::bigint as step, 'looks_cumulative' as check_name, '{name}' as subject,
               arg_min({name}, step) as expected, arg_max({name}, step) as found, count({name}) as steps
          from risen where {name} is not null group by run, attempt
        having count({name}) >= {LEAST_STEPS} and bool_and({name}_up)
           and found >= 0.5 * count({name}) * expected and expected > 0"""
        for name in COUNTERS
    )
    ups = ", ".join(f"coalesce({c} > lag({c}) over w, true) as {c}_up" for c in COUNTERS)
    return view.frame(
        f"""{_BASE},
        risen as (select *, {ups} from one_step window w as (partition by run, attempt order by step))
        {one} order by run, attempt, subject""",
        filters.parameters(),
    )


def ratios(view: View, filters: Filters) -> pd.DataFrame:
    """COLUMNS for keys named ratio or fraction with values from 1 to 100, and scores in two units."""
    return view.frame(
        f"""with {PICKED},
        raw as (
          select m.run, m.attempt, m.key, min(m.value) as least, max(m.value) as most, count(*) as n
            from metric_raw m join picked using (run)
           where regexp_matches(m.key, '(ratio|frac|fraction)(/mean|/avg)?$')
           group by all having max(m.value) > 1.000001 and max(m.value) <= 100 and min(m.value) >= 0
        )
        select run, attempt, null::bigint as step, 'percent_in_a_ratio' as check_name, key as subject,
               least as expected, most as found, n as steps from raw
        union all
        select e.run, null, null, 'scores_in_two_units', e.benchmark, min(e.score), max(e.score), count(*)
          from evals e join picked using (run) where e.score is not null
         group by e.run, e.benchmark, e.metric having count(distinct coalesce(e.score_kind, '')) > 1
         order by 1, 2, 4, 5""",
        filters.parameters(),
    )


def peaks(view: View, filters: Filters) -> pd.DataFrame:
    """One row an attempt and platform: framework, largest used memory of a GPU (B), largest MFU (0..1)."""
    return view.frame(
        f"""with {PICKED}
        select s.run, s.attempt, r.framework, a.platform, max(s.mem_peak_bytes) as mem_bytes,
               max(s.mfu_frac) as mfu, count(*) as steps
          from steps s join picked using (run) join runs r using (run)
          join (select distinct run, attempt, platform from allocations
                 where platform is not null and coalesce(role, '') <> 'sandbox') a using (run, attempt)
         where s.mem_peak_bytes is not null or s.mfu_frac is not null
         group by all order by 1, 2, 4""",
        filters.parameters(),
    )
