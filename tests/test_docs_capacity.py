"""docs/capacity.md: its table of rates and its worked examples are those of the code."""

import re

import pytest

from analysis.cadence_fleets import failing
from analysis.cadence_params import CadenceParams
from data.operations import operation
from models.cadence import Campaign, Launches, Running, StepLaw, expected_cycle, growth_of, rounded
from models.failures import Saving, best_steps, daly_s, young_s
from tests.docs_pages import DOCS

PAGE = (DOCS / "capacity.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
HOUR = 3600.0
USUAL = CadenceParams()


def said(pattern: str) -> list[float]:
    found = re.search(pattern, TEXT)
    assert found is not None, pattern
    return [float(cell.replace(",", "")) for cell in found.groups()]


def test_table_of_rates() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) h \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE
    )
    assert len(rows) == 5
    for cells in rows:
        gpus, usual, life, low, high = (float(cell.replace(",", "")) for cell in cells)
        rate = failing(USUAL, int(gpus))
        assert [usual, life, low, high] == pytest.approx(
            [rate.usual, 1 / rate.usual, rate.low, rate.high], rel=6e-3
        )
    small, huge = said(r"Jobs of 1,024 GPUs lived ([\d.]+) h.* one of 16,384 lived ([\d.]+) h")
    assert small == operation("rsc_job_mttf_hours_1024").value
    assert huge == operation("llama3_job_mtti_hours").value


def test_worked_week() -> None:
    launches = Launches(USUAL.cold_start_min * 60, 1200.0, USUAL.queue_min * 60, 48 * HOUR)
    saving = Saving(USUAL.checkpoint_steps, USUAL.checkpoint_s, USUAL.restart_min * 60)
    life_s = HOUR / failing(USUAL, 64).usual
    cycle = expected_cycle([Campaign(200, 332.0, 1, 1800.0)], Running(saving, life_s, launches))
    parts = [cycle.evals_s, cycle.saves_s, cycle.failures_s, cycle.start_up_s, cycle.total_s]
    found = said(
        r"evaluations ([\d.]+) h, 20 saves of 60 s ([\d.]+) h, failures ([\d.]+) h, a cold start and its "
        r"queue ([\d.]+) h: ([\d.]+) h, a goodput of (\d+) %"
    )
    assert found[:5] == pytest.approx([float(part) / HOUR for part in parts], abs=0.06)
    assert found[:4] == pytest.approx([float(part) / HOUR for part in parts[:4]], abs=0.006)
    assert found[5] == pytest.approx(100 * float(cycle.goodput_frac), abs=0.6)
    steps, at_goodput = said(
        r"on 64 GB200 are ([\d.]+) h. At a measured goodput of 75 % [^;]*? a cycle takes ([\d.]+) h"
    )
    assert [steps, at_goodput] == pytest.approx([200 * 332 / HOUR, 200 * 332 / HOUR / 0.75], abs=0.06)
    assert said(r"shape of 512 GPUs takes (\d+) racks") == [float(rounded(512, 0.125, 4, 72, 72).racks)]
    swe = said(r"SWE steps of 20 minutes: ([\d.]+) h, at 75 % ([\d.]+) h")
    assert swe == pytest.approx([200 * 1200 / HOUR, 200 * 1200 / HOUR / 0.75], abs=0.06)


def test_worked_saves_and_growth() -> None:
    found = said(
        r"every (\d+) min, Daly every (\d+) min: every (\d+) steps. At 1,024 GPUs ([\d.]+) and ([\d.]+) min: "
        r"every (\d+) steps"
    )
    for gpus, told in ((64, found[:3]), (1024, found[3:])):
        life_s = HOUR / failing(USUAL, gpus).usual
        minutes = [float(rule(60.0, life_s)) / 60 for rule in (young_s, daly_s)]
        assert told[:2] == pytest.approx(minutes, rel=5e-3)
        assert told[2] == best_steps(332.0, 60.0, 1200.0, life_s, 200)
    expected, growth, fastest, least, there = said(
        r"([\d.]+) s were expected: ([\d.]+) s of growth. A step is shortest on (\d+) GPUs, (\d+) s; on 256 "
        r"it takes (\d+) s"
    )
    law = StepLaw(64, 33.2, 298.8, growth_of(33.2 + 298.8 / 2, 300.0, 2.0))
    assert [expected, growth] == pytest.approx([33.2 + 298.8 / 2, law.growth_s])
    assert fastest == pytest.approx(law.fastest_gpus, abs=0.5)
    assert [least, there] == pytest.approx([law.step_s(fastest), law.step_s(256)], abs=0.6)
