"""The rule for whole steps: a run of which only platform, GPUs and seconds are known, and published pairs."""

import math

import numpy as np
import pytest

from analysis.pairfactors import step_fixed_share
from data.catalogue import load_catalogue
from data.published import RlPoint, resolve, shipped
from models.transfer import PRIOR_SHARES, StepCase, step_ratio
from tests.analysis.conftest import Home
from tests.analysis.projecting import asked, row, whole


def test_a_run_without_phases_follows_the_rule_for_whole_steps(empty_home: Home) -> None:
    whole(empty_home, "w", "h100-sxm", 32, 400.0)
    found = asked(empty_home, targets=["gb200-nvl72"])
    assert "rule for whole steps" in found.answer and found.tables["phases"].empty
    (notice,) = [n for n in found.warnings if n.code == "phases_not_measured"]
    assert "Telemetry page" in notice.text
    # bandwidth 8 / 3.35, dense BF16 2500 / 989, as many GPUs
    case = StepCase(8 / 3.35, 2500 / 989, 1.0)
    ratio = step_ratio(case, PRIOR_SHARES, step_fixed_share(load_catalogue()))
    assert row(found, "gb200-nvl72")["step_s"] == pytest.approx(400 * ratio, rel=0.02)
    assert row(found, "gb200-nvl72", "whole_step")["ratio"] == pytest.approx(ratio)


def test_equal_step_time_needs_phases(empty_home: Home) -> None:
    whole(empty_home, "w", "h100-sxm", 32, 400.0)
    found = row(asked(empty_home, targets=["gb200-nvl72"], hold="step_time"), "gb200-nvl72")
    assert math.isnan(found["step_s"]) and "phases" in found["missing"]


def test_published_pairs_entered_as_runs_land_in_their_bands(empty_home: Home) -> None:
    """H100 to half as many GB200, with the step times of published runs: p10..p90 holds most of them."""
    tables, inside = shipped(load_catalogue()), []
    for pair in tables.pairs:
        if (pair.set, pair.platform_a, pair.platform_b) != ("rl_step", "h100-sxm", "gb200-nvl72"):
            continue
        a, b = resolve([tables], pair)
        if not (isinstance(a, RlPoint) and isinstance(b, RlPoint)) or 2 * b.n_gpus != a.n_gpus:
            continue
        empty_home.clear()
        whole(empty_home, "p", a.platform_id, a.n_gpus, a.step_time_s)
        # equal dollars at $2 and $4 rent half the GPUs
        found = row(asked(empty_home, targets=[b.platform_id], hold="budget"), b.platform_id)
        assert found["gpus"] == b.n_gpus
        inside.append(bool(found["step_s_low"] <= b.step_time_s <= found["step_s_high"]))
    assert len(inside) >= 5 and np.mean(inside) >= 0.6, inside


def test_a_run_without_a_price_has_the_ratio_of_prices(empty_home: Home) -> None:
    whole(empty_home, "w", "mi455x", 32, 400.0)
    found = asked(empty_home, targets=["gb200-nvl72"])
    step_s = row(found, "gb200-nvl72")["step_s"]
    even = row(found, "gb200-nvl72", "breakeven")
    assert math.isnan(even["usd_per_gpu_h"]) and even["verdict"] == "cannot tell"
    assert f"less than {400 / step_s:.3f} times one of the run" in found.answer
    whole(empty_home, "back", "gb200-nvl72", 32, step_s)
    there = row(asked(empty_home, run="back", targets=["mi455x"]), "mi455x", "whole_step")
    assert row(found, "gb200-nvl72", "whole_step")["ratio"] * there["ratio"] == pytest.approx(1)


def test_a_target_with_unknown_peaks_names_them(empty_home: Home) -> None:
    whole(empty_home, "w", "h100-sxm", 32, 400.0)
    found = row(asked(empty_home, targets=["h20"]), "h20")
    assert math.isnan(found["step_s"]) and found["missing"]
