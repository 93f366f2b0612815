"""Which runs a question is about, as one SQL fragment that every query shares."""

from dataclasses import dataclass

from data.queries.sums import total

PICKED = """
picked as (
  select r.run from runs r
   where (len($runs::varchar[]) = 0 or list_contains($runs::varchar[], r.run))
     and (len($platforms::varchar[]) = 0 or r.run in (
           select a.run from allocations a where list_contains($platforms::varchar[], a.platform)))
)"""

ALL_STEPS = 9223372036854775807

LINEAGE = f"""
dated as (
  select t.*, bool_and(t.started_at is not null) over (partition by t.run) as clocks
    from attempts t join picked using (run)
),
placed_tries as (
  select *, row_number() over (
           partition by run order by case when clocks then started_at end, attempt) as place
    from dated
),
prev as (
  select t.run, t.attempt, t.place, coalesce(t.status, 'unknown') as status, t.resumed_from_step as from_step,
         coalesce(t.resumed_from_attempt,
                  case when t.resumed_from_step is not null
                       then lag(t.attempt) over (partition by t.run order by t.place) end) as from_attempt
    from placed_tries t
),
used as (
  select run, attempt, max(step) as step from (
    select c.run, c.attempt, c.step from checkpoints c join picked using (run)
     where c.attempt is not null and c.step is not null
       and (c.checkpoint in (select shipped_checkpoint from campaigns where shipped_checkpoint is not null)
            or exists (select 1 from checkpoints n where n.parent = c.checkpoint and n.run <> c.run))
    union all
    select s.run, max(s.attempt), s.step from steps s join picked using (run)
     where s.run || '@' || s.step in (select shipped_checkpoint from campaigns) group by s.run, s.step
  ) group by run, attempt
),
alive as (
  select p.run, p.attempt from prev p
   where p.status in ('completed', 'running')
      or (p.status = 'unknown'
          and not exists (select 1 from prev c where c.run = p.run and c.from_attempt = p.attempt))
),
chain(run, attempt, through, reach) as (
  select run, attempt, {ALL_STEPS}, {ALL_STEPS} from alive
  union all
  select run, attempt, step, step from used
  union all
  select c.run, p.from_attempt, case when p.from_step is null then -1 else least(c.reach, p.from_step) end,
         least(c.reach, coalesce(p.from_step, {ALL_STEPS}))
    from chain c join prev p on p.run = c.run and p.attempt = c.attempt
    join prev b on b.run = p.run and b.attempt = p.from_attempt
   where b.place < p.place
),
kept as (
  select p.run, p.attempt,
         coalesce(max(c.through), -{ALL_STEPS}) as keep_step
    from prev p left join chain c using (run, attempt) group by p.run, p.attempt
)"""
"""`kept`: last step of each attempt on the surviving lineage; ALL_STEPS: the whole attempt, -ALL_STEPS:
nothing, -1: a surviving attempt resumed from it at a step nobody knows.

The same rule as models.cost.lineage, and tested against it: completed and running attempts count whole, as
does one of unknown status that nobody resumed; another one counts up to the latest step that a surviving
attempt resumed from, or whose checkpoint shipped or is the parent of a checkpoint of another run. A
resumption that names a step but no attempt continues the attempt before it: by start where every attempt of
the run has one, else by number.
"""

ONE_STEP = """
one_step as (
  select s.run, s.attempt, s.step, min(s.ts) as ts, max(s.elapsed_s) as elapsed_s, max(s.step_s) as step_s,
         max(s.tok_prompt) as tok_prompt, max(s.tok_gen) as tok_gen, max(s.tok_total) as tok_total,
         max(s.tok_trained) as tok_trained,
         max(s.rollouts) as rollouts, max(s.groups) as groups, max(s.groups_all_right) as groups_all_right,
         max(s.groups_all_wrong) as groups_all_wrong, max(s.correct) as correct, max(s.dropped) as dropped
    from steps s join picked using (run) where s.step is not null
   group by s.run, s.attempt, s.step
)"""
"""One row a step of an attempt: several files may report the same step, each a part of its columns."""


STEP_CLOCK = f"""
timer as (
  select p.run, p.attempt, coalesce(p.pool, '') as pool, p.step, p.phase, coalesce(p.kind, 'wall') as kind,
         p.source_key, max(p.seconds) as seconds
    from step_phases p join picked using (run) where p.seconds is not null group by all
),
pool_clock as (
  select run, attempt, pool, step, {total("seconds")} as phase_s,
         coalesce({total("seconds", "phase = 'eval'")}, 0) as eval_s
    from timer where kind in ('wall', 'exposed') group by all
),
longest as (
  select run, attempt, step, max(phase_s) as phase_s, max(eval_s) as eval_s from pool_clock group by all
),
span as (
  select run, attempt, step, o.step_s, l.phase_s,
         case when o.step_s is null then l.phase_s
              when l.eval_s > 0 and l.phase_s > 1.01 * o.step_s and l.phase_s - l.eval_s <= 1.01 * o.step_s
              then o.step_s + l.eval_s else o.step_s end as seconds
    from one_step o full join longest l using (run, attempt, step)
)"""
"""`timer`: seconds by step, phase and key, once however many files report them; `span`: seconds a step
covers, its step_s, else its longest pool clock. Validation that a trainer times outside its step is added to
the span.
"""


@dataclass(frozen=True)
class Filters:
    """Runs and platforms to keep; empty means all."""

    runs: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()

    def parameters(self) -> dict[str, object]:
        """Bind values of `PICKED`."""
        return {"runs": list(self.runs), "platforms": list(self.platforms)}
