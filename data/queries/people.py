"""Names of hosts, users, teams, runs and campaigns, for reports that must not show them."""

from data.view import View

_NAMES = """
select distinct name from (
    select host as name from gpus
    union all select uuid from gpus
    union all select team from campaigns
    union all select user_name from scheduler_jobs
    union all select cluster from scheduler_jobs
    union all select resource_id from costs
    union all select resource_name from costs
     where resource_name not in (select pool from allocations where pool is not null)
) where name is not null and length(name) > 1 order by name
"""


def names(view: View) -> tuple[str, ...]:
    """Return every host, GPU uuid, team, user and cluster name that the home knows, sorted."""
    return tuple(str(n) for n in view.frame(_NAMES)["name"])


_RUN_NAMES = """
select distinct name from (
    select run as name from runs
    union all select campaign from runs
    union all select campaign from campaigns
    union all select campaign from costs
    union all select checkpoint from checkpoints where regexp_matches(checkpoint, '[^A-Za-z]')
    union all select shipped_checkpoint from campaigns where regexp_matches(shipped_checkpoint, '[^A-Za-z]')
    union all select name from scheduler_jobs where regexp_matches(name, '[^A-Za-z]')
) where name is not null and name <> '' order by name
"""


def run_names(view: View) -> tuple[str, ...]:
    """Return every run and campaign name, and those of checkpoints and jobs that are no plain word."""
    return tuple(str(n) for n in view.frame(_RUN_NAMES)["name"])
