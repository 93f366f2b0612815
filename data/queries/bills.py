"""Charges of a billing period, and who held which GPUs when."""

import json
from dataclasses import dataclass
from datetime import date, datetime

import pandas as pd

from data.view import View

_UNUSED = (
    "lower(coalesce(commitment_status, '')) = 'unused' or lower(coalesce(reservation_status, '')) = 'unused'"
)
_TEXTS = (
    "provider", "service", "sku", "resource_id", "resource_name", "region", "account", "category",
    "charge_class", "currency", "bucket", "description", "instance_type", "unit", "commitment_id",
    "commitment_status", "commitment_unit", "reservation_id", "reservation_status", "invoice", "tags", "run",
    "campaign", "note",
)  # fmt: skip
"""Texts that tell charges apart."""

_CHARGES = f"""
with rows as (
  select *, coalesce(line, -row_number() over ()) as place from costs
), charges as (
  select upload_id, place, {", ".join(_TEXTS)}, gpus, billing_start, billing_end, charge_start,
         case when charge_end > charge_start then charge_end end as charge_end,
         case when charge_start is null then day end as day,
         fsum(billed_cost) as billed, fsum(effective_cost) as effective, fsum(quantity) as quantity,
         fsum(commitment_quantity) as commitment_quantity
    from rows group by all
)
select * exclude (place), greatest(place, 0) as line from charges
 where $start is null
    or case when billing_start is not null then billing_start >= $start and billing_start < $end
            when charge_end is not null then charge_start < $end and charge_end > $start
            else coalesce(charge_start, day::timestamp) >= $start
             and coalesce(charge_start, day::timestamp) < $end end
"""

_BILL_MONTH = f"""
select max(coalesce(billing_start,
                    case when charge_end > charge_start then charge_end - interval 1 microsecond end,
                    charge_start, day::timestamp)) as at
  from costs where ($any or bucket = 'gpu' or {_UNUSED})
   and ($any_owner or upload_id not in (select upload_id from uploads where synthetic))
   and (billed_cost is not null or effective_cost is not null)
"""

_HELD = """
select a.run, a.attempt, coalesce(a.pool, 'all') as pool, coalesce(a.role, 'colocated') as role, a.platform,
       a.gpus, a.cores, coalesce(a.started_at, t.started_at) as started_at,
       coalesce(a.ended_at, t.ended_at) as ended_at, coalesce(a.seconds, t.elapsed_s) as seconds, a.price_id,
       r.campaign, c.team
  from allocations a join runs r using (run) left join attempts t using (run, attempt)
  left join campaigns c on c.campaign = r.campaign
 order by all
"""

_HELD_SPANS = """
select a.run, coalesce(a.started_at, t.started_at) as start, coalesce(a.ended_at, t.ended_at) as stop
  from allocations a left join attempts t using (run, attempt)
 where coalesce(a.started_at, t.started_at) is not null and coalesce(a.ended_at, t.ended_at) is not null
"""

_JOBS = """
select j.upload_id, j.job_id, j.cluster, j.account, j.partition, j.gpus, j.nodes, j.node_list,
       j.gpu_model, j.started_at,
       coalesce(j.ended_at, j.started_at + to_microseconds((j.elapsed_s * 1e6)::bigint)) as ended_at, r.run,
       r.campaign, c.team
  from scheduler_jobs j left join runs r on r.run = j.run
  left join campaigns c on c.campaign = r.campaign
 where j.started_at is not null and j.gpus > 0
 order by all
"""

_JOB_MACHINES = """
select coalesce('cluster ' || j.cluster, 'file ' || j.upload_id) as scheduler, j.node_list,
       min(j.started_at) as first, max(u.uploaded_at) as loaded, bool_or(coalesce(j.gpus, 0) > 0) as has_gpus,
       min(j.started_at) filter (j.gpus > 0 and j.ended_at is null and j.elapsed_s is null) as unended
  from scheduler_jobs j left join uploads u using (upload_id)
 where j.started_at is not null and j.node_list is not null
 group by all order by all
"""

_EQUAL = """
select name, json_extract(receipt, '$.equal_lines')::varchar from uploads
 where coalesce(json_extract_string(receipt, '$.equal_lines.first'), '') <> '' order by all
"""

_HOSTS = """
select host, run, attempt, pool, count(distinct gpu_id) as gpus from gpus
 where host is not null group by all order by all
"""

_NEVER_AMORTISED = """
select provider from costs
 where lower(coalesce(category, 'usage')) <> 'purchase' and effective_cost is not null
 group by provider
having sum(abs(effective_cost)) = 0 and sum(abs(billed_cost)) > 0
 order by provider
"""

_GPU_COMMITMENTS = """
select commitment_id, bool_or(bucket = 'gpu') as gpu,
       bool_or(lower(coalesce(commitment_status, '')) = 'used') as used
  from costs where commitment_id is not null group by commitment_id order by commitment_id
"""

_EXPORTS = """
select c.upload_id, c.account, strftime(c.charge_start, '%Y-%m') as month, c.commitment_id,
       bool_or(c.effective_cost is not null) over (partition by c.upload_id) as amortised,
       c.charge_start as first, coalesce(c.charge_end, c.charge_start + interval 1 day) as last
  from costs c join uploads u using (upload_id)
 where u.format = 'azure_cost_export' and c.charge_start is not null
   and (c.effective_cost is not null or c.billed_cost is not null)
"""

_EXPORT_MONTHS = f"""
select upload_id, account, month, commitment_id, amortised, min(first) as first, max(last) as last
  from ({_EXPORTS}) group by all order by all
"""

_OWNERS = """
select r.run, r.campaign, c.team from runs r left join campaigns c on c.campaign = r.campaign order by r.run
"""

_EVALS = """
select e.upload_id, e.eval_id, e.attempt, e.at, e.usd, r.run, r.campaign, c.team
  from evals e left join checkpoints k using (checkpoint) left join runs r on r.run = coalesce(e.run, k.run)
  left join campaigns c on c.campaign = r.campaign
 where e.usd is not null and e.usd <> 0 order by e.eval_id
"""

_ATTEMPTS = """
select t.run, t.attempt, t.started_at, t.ended_at, t.elapsed_s as seconds, r.campaign, c.team
  from attempts t join runs r using (run) left join campaigns c on c.campaign = r.campaign
 order by t.run, t.attempt
"""

_BOOKED = """
select distinct run, campaign, bucket, provider, service from costs
 where billed_cost is not null or effective_cost is not null order by all
"""

_TEAMS = "select campaign, team from campaigns where team is not null order by campaign"


def charges(view: View, start: datetime | None, end: datetime | None) -> pd.DataFrame:
    """One row a charge of the invoices of [start, end), of all when `start` is None; days put together again.

    A charge belongs to the billing period its file names, by that period's start; where the file names none,
    to every period that its charge period overlaps. `charge_end` is exclusive and null for a moment or a day.
    """
    return view.frame(_CHARGES, {"start": start, "end": end})


def newest_bill(view: View, any_bucket: bool, any_owner: bool = True) -> datetime | None:
    """Newest moment that a bill covers: GPU charges and unused commitments, or any charge; without
    `any_owner` the example's bill is none.
    """
    found = view.rows(_BILL_MONTH, {"any": any_bucket, "any_owner": any_owner})
    return found[0][0] if found else None


def held(view: View) -> pd.DataFrame:
    """One row an allocation with its clock (its own, else the attempt's), campaign and team."""
    return view.frame(_HELD)


def held_spans(view: View) -> list[tuple[str, datetime, datetime]]:
    """(run, start, end) of allocations of runs that have a clock."""
    return [(str(run), start, end) for run, start, end in view.rows(_HELD_SPANS)]


def jobs(view: View) -> pd.DataFrame:
    """One row a scheduler job with GPUs and a start: nodes, account, partition, and its run."""
    return view.frame(_JOBS)


def job_machines(view: View) -> pd.DataFrame:
    """One row a node list of a scheduler (cluster, or file without one): first job, when the newest of
    its files was loaded, whether jobs state GPUs, and the start of the first GPU job that has no end.
    """
    return view.frame(_JOB_MACHINES)


def hosts(view: View) -> pd.DataFrame:
    """GPUs by host and the run, attempt and pool that held them."""
    return view.frame(_HOSTS)


def never_amortised(view: View) -> list[str | None]:
    """Providers that bill usage but leave the effective cost at 0 on every row."""
    return [row[0] for row in view.rows(_NEVER_AMORTISED)]


def commitments(view: View) -> pd.DataFrame:
    """Whether any row of a commitment is a GPU charge (`gpu`), and whether any is used (`used`)."""
    return view.frame(_GPU_COMMITMENTS)


def exports(view: View) -> pd.DataFrame:
    """Accounts, months and commitments of exports that hold either actual or amortised costs (`amortised`):
    upload_id, account, month, commitment_id, amortised, and the days [first, last) that they cover.
    """
    return view.frame(_EXPORT_MONTHS)


def evaluations(view: View) -> pd.DataFrame:
    """Evaluations that cost something: eval_id, attempt, at, usd, and their run, campaign and team."""
    return view.frame(_EVALS)


def attempts(view: View) -> pd.DataFrame:
    """Attempts with their clock: run, attempt, started_at, ended_at, seconds, campaign, team."""
    return view.frame(_ATTEMPTS)


def booked(view: View) -> pd.DataFrame:
    """Who and what the cost rows of the home name: run, campaign, bucket, provider, service."""
    return view.frame(_BOOKED)


def owners(view: View) -> dict[str, tuple[str | None, str | None]]:
    """(campaign, team) by run."""
    return {str(run): (campaign, team) for run, campaign, team in view.rows(_OWNERS)}


def formats(view: View) -> dict[str, str]:
    """Format by upload."""
    return {str(upload): str(name) for upload, name in view.rows("select upload_id, format from uploads")}


@dataclass(frozen=True)
class Equal:
    """Lines of an upload that equal stored ones; `money` names their amounts, days are UTC, inclusive."""

    file: str
    lines: int
    money: str
    first: date
    last: date


def equal_lines(view: View) -> list[Equal]:
    """Cost lines that were not stored again because another upload has them, by upload."""
    out = []
    for name, told in view.rows(_EQUAL):
        one = json.loads(told)
        days = date.fromisoformat(one["first"]), date.fromisoformat(one["last"])
        out.append(Equal(str(name), int(one["lines"]), str(one["money"]), *days))
    return out


def synthetic(view: View) -> frozenset[str]:
    """Runs that are made-up example data."""
    return frozenset(str(run) for (run,) in view.rows("select run from runs where synthetic order by run"))


def synthetic_uploads(view: View) -> frozenset[str]:
    """Uploads of made-up example data: what `upload_id` of a charge may be."""
    return frozenset(str(one) for (one,) in view.rows("select upload_id from uploads where synthetic"))


def teams(view: View) -> dict[str, str]:
    """Team by campaign."""
    return {str(campaign): str(team) for campaign, team in view.rows(_TEAMS)}
