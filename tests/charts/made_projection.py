"""A made-up projection with the tables that the question returns: one measured platform, four projected."""

from dataclasses import replace
from typing import Any

from analysis.result import Notice, Result
from tests.charts import made

NAN = float("nan")
PHASES = ("rollout_work", "rollout_tail", "prefill", "logprob", "train", "weight_sync", "env", "other",
          "unattributed")  # fmt: skip
SECONDS = {
    "h100-sxm": (30.0, 15.0, 2.0, 6.0, 25.0, 4.0, 8.0, 3.0, 2.0),
    "gb200-nvl72": (16.0, 12.0, 1.0, 2.5, 10.0, 4.0, 8.0, 3.0, 2.0),
    "vera-rubin-nvl72": (9.0, 9.0, 0.6, 1.2, 6.0, 4.0, 8.0, 3.0, 2.0),
    "vera-rubin-nvl72+gb200-nvl72": (9.0, 9.0, 0.6, 2.5, 10.0, 4.0, 8.0, 3.0, 2.0),
}
NAMES = {
    "h100-sxm": "H100 SXM",
    "gb200-nvl72": "GB200 NVL72",
    "vera-rubin-nvl72": "Vera Rubin NVL72",
    "vera-rubin-nvl72+gb200-nvl72": "Vera Rubin NVL72 + GB200 NVL72",
    "rubin-ultra-nvl576": "Rubin Ultra NVL576",
}
PRICES = {"h100-sxm": 2.2, "gb200-nvl72": 4.4}
BREAK_EVEN = {
    "gb200-nvl72": (3.57, 3.0, 4.2),
    "vera-rubin-nvl72": (4.9, 3.6, 6.6),
    "vera-rubin-nvl72+gb200-nvl72": (4.35, 3.3, 5.7),
}
QUOTES = {"gb200-nvl72": ((4.4, "3-year reservation · neocloud", "GB3", "does not pay"),
                          (3.2, "your quote", "", "cannot tell")),
          "vera-rubin-nvl72": ((3.0, "your quote", "", "pays"),)}  # fmt: skip
EVIL = '<b>evil</b> <a href="x">claim</a>'


def kind(target: str) -> str:
    return "measured" if target == "h100-sxm" else "projected"


def basis(target: str) -> str:
    return {"h100-sxm": "measured", "gb200-nvl72": "published pairs"}.get(target, "left-out platforms")


def step_s(target: str) -> float:
    return sum(SECONDS[target]) if target in SECONDS else NAN


def platforms() -> list[dict[str, Any]]:
    return [_platform(t) for t in NAMES]


def _platform(target: str) -> dict[str, Any]:
    seconds, rate = step_s(target), PRICES.get(target, NAN)
    wide = 0.0 if target == "h100-sxm" else 0.2
    usd = seconds * 64 * rate / 3600
    gpus = {"h100-sxm": 64.0, "gb200-nvl72": 36.0, "vera-rubin-nvl72": 16.0}.get(target, NAN)
    ends = {"_low": 1 - wide, "_high": 1 + wide, "": 1.0}
    row: dict[str, Any] = {
        "target": target, "platform": NAMES[target], "family": "", "kind": kind(target),
        "basis": basis(target), "gpus": 64, "racks": NAN, "rack_gpus": NAN, "usd_per_gpu_h": rate,
        "price_id": {"h100-sxm": "H1", "gb200-nvl72": "GB3"}.get(target, ""), "verdict": "",
        "missing": "" if target in SECONDS else "BF16 dense FLOP/s of Rubin Ultra NVL576 are not published",
        "synthetic": True, "speedup": step_s("h100-sxm") / seconds, "speedup_low": NAN, "speedup_high": NAN,
    }  # fmt: skip
    for name, value in {
        "step_s": seconds, "tokens_per_s_per_gpu": 4000 / seconds, "usd_per_step": usd,
        "usd_per_rollout": usd / 512, "usd_per_point": 20 * usd, "gpus_same_cycle": gpus,
    }.items():  # fmt: skip
        row |= {f"{name}{end}": value * factor for end, factor in ends.items()}
    return row


def phases() -> list[dict[str, Any]]:
    return [
        {"target": target, "platform": NAMES[target], "kind": kind(target), "phase": phase, "seconds": value,
         "seconds_low": 0.9 * value, "seconds_high": 1.1 * value, "exposed": True,
         "scales_with": "memory bandwidth", "basis": basis(target)}
        for target, values in SECONDS.items()
        for phase, value in zip(PHASES, values, strict=True)
    ]  # fmt: skip


def breakeven() -> list[dict[str, Any]]:
    rows = []
    for target, (price, low, high) in BREAK_EVEN.items():
        for quote, label, price_id, verdict in QUOTES.get(target, ((NAN, "", "", "no quote"),)):
            rows.append(
                {"target": target, "platform": NAMES[target], "usd_per_gpu_h": price,
                 "usd_per_gpu_h_low": low, "usd_per_gpu_h_high": high, "quote_usd_per_gpu_h": quote,
                 "quote_label": label, "quote_price_id": price_id,
                 "quote_source": "a list", "verdict": verdict, "words": ""}
            )  # fmt: skip
    rows.append(
        {"target": "rubin-ultra-nvl576", "platform": NAMES["rubin-ultra-nvl576"], "usd_per_gpu_h": NAN,
         "usd_per_gpu_h_low": NAN, "usd_per_gpu_h_high": NAN, "quote_usd_per_gpu_h": NAN,
         "quote_label": "", "quote_price_id": "",
         "quote_source": "", "verdict": "no quote", "words": "its step time is not known"}
    )  # fmt: skip
    return rows


def calibration() -> list[dict[str, Any]]:
    return [
        {"phase": "train", "factor": 0.38, "low": 0.36, "high": 0.4, "unit": "of peak", "n_steps": 40,
         "identified": True, "basis": "measured", "words": "tokens and seconds of the run"},
        {"phase": "rollout_tail", "factor": 1.0, "low": 0.5, "high": 2.0, "unit": "x", "n_steps": 0,
         "identified": False, "basis": "prior", "words": "lengths known only by their mean"},
    ]  # fmt: skip


def drivers() -> list[dict[str, Any]]:
    return [
        {"target": target, "phase": phase, "seconds_frac": value / step_s(target),
         "variance_frac": {"train": 0.6, "rollout_tail": 0.4}.get(phase, 0.0)}
        for target, values in SECONDS.items()
        if target != "h100-sxm"
        for phase, value in zip(PHASES, values, strict=True)
    ]  # fmt: skip


def claims() -> list[dict[str, Any]]:
    shared = {"badge": "vendor claim", "unit": "ratio", "value": 0.25, "needed": "rollouts twice as fast"}
    step = step_s("vera-rubin-nvl72")
    return [
        {"claim_id": "rubin-quarter-gpus", "target": "vera-rubin-nvl72", "statement": EVIL, "phase": "train",
         "step_s_without": step, "step_s_with": step - 4.5, "step_s_low": step - 6, "step_s_high": step - 3,
         "phase_frac": 6 / step, "left_after": step / (step - 4.5), "applies": True, "why_not": "", **shared},
        {"claim_id": "vera-plus-30", "target": "gb200-nvl72", "statement": "sandboxes 30 % faster",
         "phase": "env", "step_s_without": NAN, "step_s_with": NAN, "step_s_low": NAN, "step_s_high": NAN,
         "phase_frac": NAN, "left_after": NAN, "applies": False,
         "why_not": "speaks of another CPU", **shared},
    ]  # fmt: skip


def whole_step() -> list[dict[str, Any]]:
    return [
        {"target": t, "step_s": 1.1 * step_s(t), "low": step_s(t), "high": 1.3 * step_s(t), "ratio": 0.5}
        for t in SECONDS
        if t != "h100-sxm"
    ]


def projection(synthetic: bool = False, **tables: Any) -> Result:
    """The whole result; `tables` replace tables of the same name."""
    given = {
        "platforms": platforms(), "phases": phases(), "breakeven": breakeven(), "calibration": calibration(),
        "drivers": drivers(), "claims": claims(), "whole_step": whole_step(),
    } | tables  # fmt: skip
    out = made.result("projection", **given)
    notice = (Notice("synthetic", "Made-up example data.", "h100-sync"),) if synthetic else ()
    return replace(out, warnings=notice)


def empty() -> Result:
    """No run can be projected: tables with columns and no rows."""
    full = projection()
    bare = {name: frame.iloc[:0] for name, frame in full.tables.items()}
    return replace(full, answer="No run can be projected: say which platform ran it.", tables=bare)
