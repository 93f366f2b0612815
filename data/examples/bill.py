"""A made-up invoice and scheduler export for the example's runs: leased blocks, so some hours go unused."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pandas as pd

from data.examples.plan import GB200, H100, Plan
from data.examples.tables import Story
from data.examples.timeline import History

USD_PER_GPU_H = {H100.platform: 2.10, GB200.platform: 3.90}
USD_PER_CORE_H = 0.05
STORAGE_USD_A_DAY = 3.84
SPARE = timedelta(hours=2)
CREDIT_FRAC = 0.25
COLUMNS = [
    "BilledCost",
    "EffectiveCost",
    "BillingCurrency",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ChargeCategory",
    "ProviderName",
    "ServiceName",
    "ServiceCategory",
    "ChargeDescription",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ResourceId",
    "ResourceName",
    "Tags",
]


def hosts(plan: Plan) -> list[str]:
    """Names of all nodes of a run, as its GPU logs write them."""
    stem = plan.machine.platform.split("-")[0]
    nodes = plan.gpus // plan.machine.gpus_per_node
    return [f"{stem}-node-{plan.first_node + n:02d}" for n in range(nodes)]


def lease(history: History) -> tuple[datetime, datetime]:
    """Whole hours for which the run's nodes were leased: from its start to two hours after its end."""
    first, last = history.attempts[0].start, history.attempts[-1].ended
    end = last.replace(minute=0, second=0) + timedelta(hours=1) + SPARE
    return first.replace(minute=0, second=0), end


def focus(story: Story) -> pd.DataFrame:
    """A FOCUS export: a row a node and hour, sandbox cores by run, storage by day, one service credit."""
    return pd.DataFrame([row for h in story.histories for row in _charges(h)], columns=COLUMNS)


def _charges(history: History) -> Iterator[dict[str, object]]:
    plan = history.plan
    begin, end = lease(history)
    rate, size = USD_PER_GPU_H[plan.machine.platform], plan.machine.gpus_per_node
    hour = begin
    while hour < end:
        after = hour + timedelta(hours=1)
        for host in hosts(plan):
            usage = {"ConsumedQuantity": size, "ConsumedUnit": "GPU-Hours"}
            yield _row(size * rate, hour, after, "Compute", f"{plan.machine.name} node", host) | usage
        hour = after
    tags = {"Tags": f'{{"run": "{plan.run}"}}'}
    hours = (end - begin).total_seconds() / 3600
    cores = plan.sandbox_cores * hours
    yield _row(cores * USD_PER_CORE_H, begin, end, "Sandboxes", "vCPU hours of sandboxes") | tags
    day = begin.replace(hour=0)
    yield _row(STORAGE_USD_A_DAY, day, day + timedelta(days=1), "Object storage", "Checkpoint storage")
    for attempt in history.attempts:
        if attempt.status == "failed":
            lost = plan.gpus * plan.hang_s / 3600 * rate * CREDIT_FRAC
            credit = _row(-lost, attempt.start, attempt.ended, "Compute", "Credit for an interrupted job")
            yield credit | tags | {"ChargeCategory": "Credit"}


def _row(
    usd: float, begin: datetime, end: datetime, service: str, words: str, host: str = ""
) -> dict[str, object]:
    month = begin.replace(day=1, hour=0, minute=0, second=0)
    close = (month + timedelta(days=32)).replace(day=1)
    amount = f"{usd:.2f}"
    return {
        "BilledCost": amount,
        "EffectiveCost": amount,
        "BillingCurrency": "USD",
        "BillingPeriodStart": month,
        "BillingPeriodEnd": close,
        "ChargePeriodStart": begin,
        "ChargePeriodEnd": end,
        "ChargeCategory": "Usage",
        "ProviderName": "Example cloud",
        "ServiceName": service,
        "ServiceCategory": "Storage" if service == "Object storage" else "Compute",
        "ChargeDescription": words,
        "ResourceId": host,
        "ResourceName": host,
    }


def sacct(story: Story) -> str:
    """A `sacct -P` export: a job an attempt, named after its run."""
    lines = ["JobID|JobName|User|Account|Cluster|State|Start|End|Elapsed|AllocTRES|NNodes|NodeList"]
    number = 4_100
    for history in story.histories:
        for attempt in history.attempts:
            number += 1
            state = attempt.status.upper()
            lines.append(_job(number, history.plan, history.plan.run, state, attempt.start, attempt.ended))
    return "\n".join(lines) + "\n"


def _job(number: int, plan: Plan, name: str, state: str, begin: datetime, end: datetime) -> str:
    seconds = round((end - begin).total_seconds())
    took = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    names = hosts(plan)
    listed = f"{names[0][:-2]}[{names[0][-2:]}-{names[-1][-2:]}]"
    tres = f"cpu={plan.sandbox_cores},gres/gpu={plan.gpus},node={len(names)}"
    stamps = f"{begin:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}|{took}"
    return f"{number}|{name}|post-training|reasoning|example|{state}|{stamps}|{tres}|{len(names)}|{listed}"
