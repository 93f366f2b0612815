"""Evaluations of the picked runs, of the checkpoints they started from, and their tasks."""

from collections.abc import Sequence

import pandas as pd

from data.queries.filters import LINEAGE, PICKED, Filters
from data.queries.sums import mean
from data.view import View

_EVALUATIONS = f"""
with recursive {PICKED}, {LINEAGE},
starts as (
  select c.run, arg_min(c.parent, (c.upload_id <> 'run_details', coalesce(c.step, 0), c.checkpoint))
           as start_checkpoint
    from checkpoints c join picked using (run)
   where c.parent is not null
     and (c.upload_id = 'run_details'
          or not exists (select 1 from checkpoints o where o.checkpoint = c.parent and o.run = c.run))
   group by c.run
),
placed as (
  select e.eval_id, e.checkpoint, coalesce(e.run, c.run) as run, coalesce(e.attempt, c.attempt) as attempt,
         coalesce(e.step, c.step) as step, e.benchmark, e.benchmark_version, e.split, e.harness, e.effort,
           e.metric,
         e.k, e.n_tasks, e.score, coalesce(e.score_kind, 'fraction') as score_kind, e.usd, e.at
    from evals e left join checkpoints c using (checkpoint) where e.score is not null
),
own as (
  select p.*, p.run as for_run, s.start_checkpoint,
         coalesce(p.step = 0, false) or coalesce(p.checkpoint = s.start_checkpoint, false) as is_start,
         coalesce(k.keep_step, {2**63 - 1}) >= coalesce(p.step, 0) as on_lineage
    from placed p join picked using (run) left join starts s using (run)
    left join kept k on k.run = p.run and k.attempt = p.attempt
),
inherited as (
  select p.*, s.run as for_run, s.start_checkpoint, true as is_start, true as on_lineage
    from starts s join placed p on p.checkpoint = s.start_checkpoint
   where p.run is distinct from s.run
)
select * from own union all select * from inherited order by for_run, benchmark, attempt, step, eval_id
"""

_TASKS = f"""
select t.eval_id, t.task, min(t.cluster) as cluster, {mean("t.passed")} as passed
  from eval_tasks t where list_contains($ids::varchar[], t.eval_id) and t.passed is not null
 group by t.eval_id, t.task order by t.eval_id, t.task
"""


def evaluations(view: View, filters: Filters) -> pd.DataFrame:
    """One row an evaluation and run it counts for (`for_run`): key columns, score as filed, `is_start`
    (checkpoint the money started from), `on_lineage` (false for steps that a failure lost).
    """
    return view.frame(_EVALUATIONS, filters.parameters())


def tasks(view: View, eval_ids: Sequence[str]) -> pd.DataFrame:
    """One row an evaluation and task: eval_id, task, cluster, passed (mean over repeats, 0..1)."""
    return view.frame(_TASKS, {"ids": list(eval_ids)})
