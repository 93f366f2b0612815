"""The pool of a GPU that is tied to a run and names none."""

POOL_OF_GPU = """
gpu_pool as (
  select run, pool, min(role) as role, '-' || regexp_replace(lower(pool), '[^a-z0-9]+', '-', 'g') as word
    from allocations where gpus > 0 group by run, pool
),
own_pool as (
  select g.gpu_id, any_value(p.pool) as pool, any_value(p.role) as role
    from gpus g join gpu_pool p using (run)
   where (select count(*) from gpu_pool q where q.run = g.run) = 1
      or contains('-' || regexp_replace(lower(coalesce(g.host, '')), '[^a-z0-9]+', '-', 'g'), p.word)
   group by g.gpu_id having count(*) = 1
)"""
"""CTE `own_pool` (gpu_id, pool, role): the only pool of its run, or the only one its host is named after."""
