"""Names that parameters may hold in this home."""

from data.view import View


def known_runs(view: View) -> list[str]:
    """All run names, sorted."""
    return [str(name) for (name,) in view.rows("select run from runs order by run")]


def known_benchmarks(view: View) -> list[str]:
    """All benchmark names as files give them, sorted."""
    return [str(name) for (name,) in view.rows("select distinct benchmark from evals order by benchmark")]


def has_uploads(view: View) -> bool:
    """True when any file was taken in."""
    return bool(view.rows("select 1 from uploads limit 1"))
