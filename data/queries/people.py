"""Names of hosts, users and teams, for reports that must not show them."""

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
