"""Names that parameters may hold in this home."""

from data.view import View


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
