"""One made-up month of a small cluster, small enough to be worked out by hand: bill, scheduler, runs, GPUs.

March 2026, 4 H100 on two nodes at $3.00 a GPU-hour, and an unused reservation. All hours below are whole, so
every total is exact; `TRUTH` is worked out from the plan here, not read back from the app.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

START, END = datetime(2026, 3, 1), datetime(2026, 4, 1)
DAYS = 31
GPUS_A_NODE = 2
NODES = ("node-a", "node-b")
RATE = Decimal("3.00")
SAMPLE_MINUTES = 15
FAILED = (datetime(2026, 3, 1, 6), datetime(2026, 3, 1, 18))
MATH = (datetime(2026, 3, 2), datetime(2026, 3, 12))
SWE = (datetime(2026, 3, 5), datetime(2026, 3, 20))
NOTEBOOK = (datetime(2026, 3, 15), datetime(2026, 3, 16))
HANG = (datetime(2026, 3, 8), datetime(2026, 3, 9))
SILENT = (datetime(2026, 3, 10), datetime(2026, 3, 10, 6))
STARTING = (datetime(2026, 3, 5), datetime(2026, 3, 5, 12))
STORAGE, SANDBOX, CREDIT, TAX = Decimal("1234.56"), Decimal("410.10"), Decimal("-500.00"), Decimal("100.01")
UNUSED_DAYS, UNUSED_DAY = 2, Decimal("384.00")

BILLED_GPU_H = len(NODES) * GPUS_A_NODE * 24 * DAYS
CARRIED_H = 0.5
"""A sample stands for at most three spacings (docs/utilisation.md): two of them lie inside the silence."""
GPU_H = {
    "math-v3": GPUS_A_NODE * (12 + 240),
    "swe-agent": GPUS_A_NODE * 360,
    "notebook": GPUS_A_NODE * 24,
    "idle": GPUS_A_NODE * (12 + 24),
    "stalled": GPUS_A_NODE * 24,
    "unknown": round(GPUS_A_NODE * (6 - CARRIED_H)),
}
ALLOCATED_GPU_H = GPU_H["math-v3"] + GPU_H["swe-agent"] + GPU_H["notebook"]
WORKING_GPU_H = ALLOCATED_GPU_H - GPU_H["idle"] - GPU_H["stalled"] - GPU_H["unknown"]
UNUSED_USD = UNUSED_DAYS * UNUSED_DAY
TRUTH = {
    "gpu": BILLED_GPU_H * RATE + UNUSED_USD,
    "not_allocated": (BILLED_GPU_H - ALLOCATED_GPU_H) * RATE + UNUSED_USD,
    "idle": GPU_H["idle"] * RATE,
    "stalled": GPU_H["stalled"] * RATE,
    "unknown": GPU_H["unknown"] * RATE,
    "working": WORKING_GPU_H * RATE,
    "total": BILLED_GPU_H * RATE + UNUSED_USD + STORAGE + SANDBOX + CREDIT + TAX,
    "failed": GPUS_A_NODE * 12 * RATE,
}
"""US dollars of the month: five parts that add up to `gpu`, and `total` of the whole bill."""


def _text(header: str, rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return out.getvalue()


def _z(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


FOCUS = (
    "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,"
    "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeClass,ProviderName,ServiceName,ServiceCategory,"
    "ChargeDescription,ConsumedQuantity,ConsumedUnit,ResourceId,ResourceName,CommitmentDiscountId,"
    "CommitmentDiscountStatus,Tags"
)


def _charge(
    usd: Decimal,
    span: tuple[datetime, datetime],
    service: str,
    words: str,
    *,
    category: str = "Usage",
    gpu_h: int | None = None,
    node: str = "",
    commitment: tuple[str, str] = ("", ""),
    tags: str = "",
) -> list[object]:
    hours = ("", "") if gpu_h is None else (gpu_h, "GPU-Hours")
    money = [usd, usd, usd, usd, "USD", _z(START), _z(END), _z(span[0]), _z(span[1])]
    return [*money, category, "", "Atlas", service, service, words, *hours, node, node, *commitment, tags]


def bill() -> str:
    """A FOCUS export: a row a node and day, an unused reservation, storage, sandboxes, a credit, tax."""
    rows = []
    for day in range(DAYS):
        span = START + timedelta(days=day), START + timedelta(days=day + 1)
        for node in NODES:
            gpu_h = GPUS_A_NODE * 24
            rows.append(_charge(gpu_h * RATE, span, "Compute", "H100 SXM node", gpu_h=gpu_h, node=node))
        if day >= DAYS - UNUSED_DAYS:
            unused = ("reservation-7", "Unused")
            rows.append(_charge(UNUSED_DAY, span, "Compute", "H100 SXM reservation", commitment=unused))
    month = START, END
    rows.append(_charge(STORAGE, month, "Storage", "Checkpoint storage"))
    rows.append(_charge(SANDBOX, month, "Compute", "vCPU sandboxes", tags='{"run": "swe-agent"}'))
    rows.append(_charge(CREDIT, month, "Compute", "Service credit", category="Credit"))
    rows.append(_charge(TAX, month, "Tax", "Sales tax", category="Tax"))
    return _text(FOCUS, rows)


def scheduler() -> str:
    """A `sacct -P` export: two jobs named like runs, a failed first try, and a notebook of nobody's run."""
    jobs = [
        ("101", "math-v3", "reasoning", "FAILED", FAILED, "node-a"),
        ("102", "math-v3", "reasoning", "COMPLETED", MATH, "node-a"),
        ("103", "swe-agent", "agents", "COMPLETED", SWE, "node-b"),
        ("104", "notebook", "research", "COMPLETED", NOTEBOOK, "node-a"),
    ]
    lines = ["JobID|JobName|User|Account|Cluster|Partition|State|Start|End|Elapsed|AllocTRES|NNodes|NodeList"]
    for number, name, team, state, (begin, end), node in jobs:
        hours = int((end - begin).total_seconds() // 3600)
        elapsed = f"{hours // 24}-{hours % 24:02d}:00:00" if hours >= 24 else f"{hours:02d}:00:00"
        tres = f"cpu=96,gres/gpu={GPUS_A_NODE},mem=1000G,node=1"
        stamps = f"{begin:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}|{elapsed}"
        lines.append(f"{number}|{name}|{team}|{team}|atlas|gpu|{state}|{stamps}|{tres}|1|{node}")
    return "\n".join(lines) + "\n"


def runs() -> str:
    """Our runs template: two campaigns, one of which had a failed first attempt."""
    header = "run,campaign,framework,algorithm,mode,attempt,started_at,ended_at,status,cause,pool,role"
    rows = [
        ["math-v3", "math", "verl", "grpo", "sync", 1, *map(_z, FAILED), "failed", "node lost", "all",
         "colocated", "h100-sxm", GPUS_A_NODE],
        ["math-v3", "math", "verl", "grpo", "sync", 2, *map(_z, MATH), "completed", "", "all",
         "colocated", "h100-sxm", GPUS_A_NODE],
        ["swe-agent", "agents", "verl", "grpo", "sync", 1, *map(_z, SWE), "completed", "", "all",
         "colocated", "h100-sxm", GPUS_A_NODE],
    ]  # fmt: skip
    return _text(f"{header},platform,gpus", rows)


def steps() -> str:
    """A step an hour and attempt; the counter of `math-v3` stands still during the hang."""
    rows: list[list[object]] = []
    for run, attempt, (begin, end) in (
        ("math-v3", 1, FAILED),
        ("math-v3", 2, MATH),
        ("swe-agent", 1, (STARTING[1], SWE[1])),
    ):
        moment, step = begin, 0
        while moment < end:
            moment += timedelta(hours=1)
            if run == "math-v3" and HANG[0] < moment <= HANG[1]:
                continue
            step += 1
            rows.append([run, attempt, step, _z(moment), 3600.0, 512])
    return _text("run,attempt,step,ts,step_s,rollouts", rows)


def within(moment: datetime, span: tuple[datetime, datetime]) -> bool:
    """Whether `moment` lies in [start, end)."""
    return span[0] <= moment < span[1]


def samples() -> Iterator[list[object]]:
    """Rows of the GPU log: busy where a run works, busy without work in the hang, silent for six hours."""
    for tick in range(DAYS * 24 * 60 // SAMPLE_MINUTES):
        moment = START + timedelta(minutes=tick * SAMPLE_MINUTES)
        for node in NODES:
            if node == "node-b" and within(moment, SILENT):
                continue
            working = (
                (within(moment, FAILED) or within(moment, MATH))
                if node == "node-a"
                else (within(moment, SWE) and not within(moment, STARTING))
            )
            hung = node == "node-a" and within(moment, HANG)
            values = (1.0, 0.0, 0.0, 0.0, 230) if hung else (0.97, 0.62, 0.30, 0.25, 560)
            for gpu in range(GPUS_A_NODE):
                shown = values if working else (0.0, 0.0, 0.0, 0.0, 75)
                yield [f"{node}:{gpu}", node, gpu, _z(moment), *shown, 700]


GPU_HEADER = "gpu_id,host,gpu_index,ts,gpu_util,sm_active,tensor_active,dram_active,power_w,power_limit_w"


def gpus() -> str:
    """Our gpu_samples template for both nodes, a row a GPU and quarter of an hour."""
    return _text(GPU_HEADER, list(samples()))


def write(folder: Path) -> dict[str, Path]:
    """Write the five files; their paths by name."""
    texts = {
        "runs.csv": runs(),
        "steps.csv": steps(),
        "bill-2026-03.csv": bill(),
        "jobs.txt": scheduler(),
        "gpus.csv": gpus(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in texts}
