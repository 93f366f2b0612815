"""Names that parameters may hold in this home."""

from datetime import datetime

from data.view import View

_OWN_END = """
with made_up as (select upload_id from uploads where synthetic),
made_runs as (select run from runs where synthetic)
select max(t) from (
    select max(ts) as t from steps where upload_id not in (from made_up)
    union all select max(ended_at) from attempts where run not in (from made_runs)
    union all select max(ts_max) from gpu_parts where upload_id not in (from made_up)
    union all select max("at") from evals where upload_id not in (from made_up)
    union all select max(started_at) from env_events where upload_id not in (from made_up)
    union all select max(ended_at) from scheduler_jobs where upload_id not in (from made_up)
)
"""


def known_runs(view: View) -> list[str]:
    """All run names, sorted."""
    return [str(name) for (name,) in view.rows("select run from runs order by run")]


def runs_by_arrival(view: View) -> list[str]:
    """All run names, the one that was uploaded first in front."""
    rows = view.rows(
        "select r.run from runs r left join run_sources s using (run) "
        "group by r.run order by min(s.seq), r.run"
    )
    return [str(name) for (name,) in rows]


def known_benchmarks(view: View) -> list[str]:
    """All benchmark names as files give them, sorted."""
    return [str(name) for (name,) in view.rows("select distinct benchmark from evals order by benchmark")]


def has_uploads(view: View) -> bool:
    """True when any file was taken in."""
    return bool(view.rows("select 1 from uploads limit 1"))


def own_telemetry_end(view: View) -> datetime | None:
    """Newest stamp (UTC) of telemetry that is not the example's; None where no row of one's own has one."""
    value = view.rows(_OWN_END)[0][0]
    return value if isinstance(value, datetime) else None
