"""Made-up results of plans, with the columns that their questions promise."""

from typing import Any

from analysis.result import Result
from tests.charts.made import EVIL, result

FLEETS = ((32, 0.10, 190.0), (64, 0.96, 140.0), (128, 0.99, 120.0), (256, 0.97, 130.0))


def cadence(most: int = 4) -> Result:
    """Two platforms; on the first the cycle is shortest at 128 GPUs."""
    rows = [
        {"target": target, "platform": name, "gpus": gpus, "fleet_gpus": gpus + 8, "racks": None,
         "step_s": 10.0, "cycle_h": hours * speed, "cycle_h_low": 0.9 * hours * speed,
         "cycle_h_high": 1.2 * hours * speed, "p_finish": p, "usd_per_cycle": 2.5 * gpus * hours,
         "chosen": gpus == 64, "fastest": gpus == 128}
        for target, name, speed in (("h100-sxm", EVIL, 1.0), ("gb300-nvl72", "GB300 NVL72", 0.5))
        for gpus, p, hours in FLEETS[:most]
    ]  # fmt: skip
    parts = [
        {"target": target, "part": part, "hours": hours}
        for target in ("h100-sxm", "gb300-nvl72")
        for part, hours in (("steps that more GPUs shorten", 90.0), ("failures", 5.0), ("evaluations", 0.0))
    ]
    platforms = [
        {"target": "h100-sxm", "platform": EVIL},
        {"target": "gb300-nvl72", "platform": "GB300 NVL72"},
    ]
    saves = [
        {"checkpoint_steps": n, "interval_s": 332.0 * n, "goodput_frac": share, "chosen": n == 10,
         "best": n == 30, "young_s": 123 * 60.0, "daly_s": 122 * 60.0}
        for n, share in ((1, 0.5), (10, 0.8), (30, 0.9), (100, 0.7))
    ]  # fmt: skip
    params = {"wanted": 0.95, "deadline_h": 162.0}
    return result("cadence", params=params, curve=rows, parts=parts, platforms=platforms, checkpoint=saves)


def swings(status: str = "measured") -> Result:
    """Three inputs of one outcome whose value is 100 hours."""
    ends = (("length", 60.0, 150.0), (EVIL, 80.0, 120.0), ("restart", 99.0, 102.0))
    rows = [
        {"param": name, "label": name, "unit": "frac", "low": 0.1, "value": 0.2, "high": 0.4, "at_low": low,
         "at_value": 100.0, "at_high": high, "outcome": "Cycle time (h)", "outcome_unit": "h",
         "status": status, "source": "a page"}
        for name, low, high in ends
    ]  # fmt: skip
    return result("pools", tornado=rows)


def forecast(budget: float | None = 90_000.0) -> Result:
    """Two past months, of which the second in part, and three to come."""
    past = [
        {"month": "2026-01", "days": 31, "whole": True, "basis": "bill", "usd": 80_000.0, "gpu_h": 30_000.0},
        {"month": "2026-02", "days": 10, "whole": False, "basis": "bill", "usd": 30_000.0, "gpu_h": 11_000.0},
    ]
    months = [
        {"month": f"2026-0{n}", "days_known": 10 if n == 2 else 0, "usd_p10": 70_000.0, "usd_p50": 85_000.0,
         "usd_p90": 110_000.0, "gpu_h_p10": 25e3, "gpu_h_p50": 31e3, "gpu_h_p90": 40e3, "budget_usd": budget,
         "over_frac": 0.4}
        for n in (2, 3, 4)
    ]  # fmt: skip
    totals = [
        {"kind": kind, "name": name, "usd_mean": 5e4, "usd_p10": 4e4, "usd_p90": 7e4}
        for kind, name in (("total", ""), ("team", EVIL), ("campaign", "math-v3"))
    ]
    changes = [
        {"part": part, "label": part, "usd": usd}
        for part, usd in (("before", 9e4), ("volume", 2e4), ("price", -1e4), ("after", 1e5))
    ]
    return result("forecast", months=months, history=past, totals=totals, changes=changes)


def scores() -> Result:
    """One forecast that held and one that did not."""
    rows = [
        {"forecast": n, "month": "2026-03", "kind": "total", "name": "", "measure": "usd", "p10": 70.0,
         "p50": 80.0, "p90": 95.0, "actual": actual, "inside": 70 <= actual <= 95}
        for n, actual in ((1, 90.0), (2, 120.0))
    ]  # fmt: skip
    return result("forecast_score", scores=rows)


def pools() -> Result:
    """Nine splits of ten GPUs that balance at six, and three modes."""
    rows = [
        {"rollout_gpus": n, "train_gpus": 10 - n, "judge_gpus": 0, "rollout_s": 600 / n,
         "train_s": 400 / (10 - n), "step_s": max(600 / n, 400 / (10 - n)), "starved_frac": 0.1,
         "blocked_frac": 0.0, "usd_per_step": 5.0, "chosen": n == 6, "current": n == 4}
        for n in range(1, 10)
    ]  # fmt: skip
    modes = [
        {"mode": mode, "step_s": 100.0, "usd_per_step": usd, "usd_per_step_low": 0.9 * usd,
         "usd_per_step_high": 1.1 * usd, "steps_for_budget": 200, "age_updates": 1.0, "allowed": allowed}
        for mode, usd, allowed in (("sync", 9.0, True), ("one_step_off", 7.0, True), ("async", 6.0, False))
    ]  # fmt: skip
    return result("pools", splits=rows, modes=modes)


def sandboxes() -> Result:
    """Cores that cost more and more, waits that cost less and less."""
    rows = [
        {"cores_per_gpu": n, "cores": 8.0 * n, "wait_p95_s": 1 / n, "idle_usd_per_step": 8.0 / n,
         "cpu_usd_per_step": 0.5 * n, "usd_per_rollout": 0.01, "busy_frac": 0.5, "chosen": n == 4,
         "cheapest": n == 4}
        for n in (1, 2, 4, 8)
    ]  # fmt: skip
    cpus = [
        {"cpu": cpu, "name": name, "speedup": speed, "source": "a page", "cores_per_gpu": 4.0,
         "usd_per_rollout": usd, "scenario": cpu == "vera"}
        for cpu, name, speed, usd in (("x86", EVIL, 1.0, 0.01), ("grace", "Grace", None, None),
                                      ("vera", "Vera", 1.3, 0.008))
    ]  # fmt: skip
    return result("sandboxes", by_cores=rows, cpus=cpus)


def weight_sync() -> Result:
    """The sync in use and a faster engine."""
    rows = [
        {"row_id": row, "method": method, "model": "m", "gb_per_s": speed, "sync_s": 100 / speed,
         "sync_s_low": 80 / speed, "sync_s_high": 120 / speed, "share_frac": 0.1, "usd_per_day": 500 / speed,
         "saved_usd_per_day": 10.0, "source": "a page"}
        for row, method, speed in (("now", "in use", 5.0), ("W1", EVIL, 50.0))
    ]  # fmt: skip
    curve = [{"gb_per_s": x, "sync_s": 100 / x, "usd_per_day": 500 / x} for x in (1.0, 10.0, 100.0)]
    return result("weight_sync", engines=rows, speeds=curve)


def commitments() -> Result:
    """A chosen mix, the worlds it meets, and the first three units."""
    options: list[dict[str, Any]] = [
        {"option": o, "label": label, "expected_usd": usd, "p10_usd": 0.8 * usd, "p90_usd": 1.3 * usd,
         "worst_usd": 2 * usd, "worst_tenth_usd": 1.5 * usd, "regret_usd": 1e4}
        for o, label, usd in (("best", EVIL, 1e6), ("on_demand", "On demand", 1.4e6))
    ]  # fmt: skip
    options.append({"option": "own", "label": "Own", "expected_usd": None, "p10_usd": None, "p90_usd": None})
    worlds = [
        {"label": label, "prob_frac": p, "cost_usd": 1.1e6, "best_usd": 1e6, "regret_usd": usd,
         "best_mix": EVIL}
        for label, p, usd in (("as planned", 0.5, 0.0), ("lower", 0.25, 1e5))
    ]  # fmt: skip
    racks = [
        {"units": n, "value_usd": 9e6 / (n + 1), "cost_usd": 4e6, "expected_usd": 1e7, "chosen": n == 1}
        for n in range(4)
    ]
    demand = [
        {"from_frac": 0.0, "time_frac": 0.5, "gpus": 100.0, "committed_gpus": 60.0},
        {"from_frac": 0.5, "time_frac": 1.0, "gpus": 40.0, "committed_gpus": 60.0},
    ]
    return result("commitments", options=options, worlds=worlds, racks=racks, demand=demand)
