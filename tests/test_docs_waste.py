"""docs/waste.md: the worked example and every threshold are those of the code."""

import re

from analysis.waste import WasteParams
from models.stalls import Thresholds
from models.waste import PARTS, TOLERANCE, Measured, Split, shares
from tests.docs_pages import DOCS

PAGE = " ".join((DOCS / "waste.md").read_text(encoding="utf-8").split())
RATE, GPUS, HOURS, HUNG_MIN = 3.0, 16, 2, 33
GPU_S = 3600.0


def cells(row: str) -> list[str]:
    """Both cells of the first table row that starts with `row` and a number."""
    found = re.search(rf"\| {re.escape(row)} \| (\d[^|]*) \| ([^|]*) \|", PAGE)
    assert found, row
    return list(found.groups())


def usd(gpu_s: float) -> str:
    return f"${gpu_s / GPU_S * RATE:,.2f}"


def split(sampled: int) -> Split:
    hung = sampled * HUNG_MIN * 60.0
    paid = GPUS * HOURS * GPU_S
    return shares(paid, Measured(stalled=hung, working=sampled * HOURS * GPU_S - hung)).times(paid)


def test_the_worked_example() -> None:
    whole = split(GPUS)
    assert cells("stalled: 16 x 33 min") == [f"{whole.stalled / GPU_S:.1f}", usd(whole.stalled)]
    assert cells("working") == [f"{whole.working / GPU_S:.1f}", usd(whole.working)]
    assert cells("paid") == [f"{whole.paid / GPU_S:.1f}", usd(whole.paid)]
    half = split(8)
    tail = PAGE[PAGE.index("half is known") :]
    for part in ("stalled", "working"):
        row = [usd(getattr(half, part)), *map(usd, half.bounds(part))]
        assert f"| {part} | {' | '.join(row)} |" in tail
    assert f"| unknown | {usd(half.unknown)} |" in tail


def test_the_thresholds_are_the_defaults() -> None:
    limits = Thresholds()
    percent = {
        name: f"{100 * getattr(limits, name):.0f} %" for name in vars(limits) if name.endswith("_frac")
    }
    assert f"SM activity below {percent['idle_sm_frac']} for {limits.idle_s / 60:.0f} minutes" in PAGE
    assert f"stands still for {limits.stall_s / 60:.0f} minutes" in PAGE
    assert f"GPU-Util is {percent['stall_util_frac']} or more" in PAGE
    assert f"tensor activity is below {percent['stall_tensor_frac']} **and** memory" in PAGE
    assert f"memory activity below {percent['stall_dram_frac']}" in PAGE
    assert f"power below {percent['stall_power_frac']} of its limit" in PAGE
    assert f"{limits.frozen_s / 60:.0f} minutes or {limits.frozen_steps:.0f} median steps" in PAGE
    assert f"by more than {100 * TOLERANCE:.0f} %" in PAGE
    params = WasteParams()
    assert (60 * params.idle_min, 60 * params.stall_min, 60 * params.frozen_min) == (
        limits.idle_s, limits.stall_s, limits.frozen_s,
    )  # fmt: skip
    for name in (*percent, "frozen_steps"):
        assert getattr(params, name) == getattr(limits, name)


def test_the_identity_names_every_part() -> None:
    assert f"`paid = {' + '.join(PARTS)}`" in PAGE
