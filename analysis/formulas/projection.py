"""Metrics of a run carried to other platforms."""

from analysis.formulas.formula import Formula

_BOUNDARY = (
    "GPUs, judges and sandboxes of the run, for the seconds of a step; warm-up and failed steps left out"
)
_P10_P90 = "p10_p90 of draws: band of the published pairs, spread of the run's steps, noise of other software"

METRICS = (
    Formula(
        "measured_step_s",
        "Mean step as measured",
        "mean over steps of the step timer and what lies on top of it; last attempt of each step",
        "s",
        _BOUNDARY,
        "p10_p90 of the mean (standard error over steps), which is narrower than the spread of single steps",
    ),
    Formula(
        "projected_step_s",
        "Step on the target",
        "phases composed in the run's mode; phase = measured seconds x transfer ratio / factor of published "
        "pairs: decode at the target's batch, FLOP ratio of training, log-probs and prompts, the rest kept",
        "s",
        _BOUNDARY,
        _P10_P90,
    ),
    Formula(
        "projected_speedup",
        "Speed-up of a step",
        "measured step / step on the target",
        "ratio",
        _BOUNDARY,
        _P10_P90,
    ),
    Formula(
        "projected_tok_per_s_per_gpu",
        "Tokens/s a GPU on the target",
        "prompt and generated tokens of a step / (step on the target x its GPUs)",
        "tokens/s/GPU",
        _BOUNDARY,
        _P10_P90,
    ),
    Formula(
        "projected_usd_per_step",
        "Dollars a step on the target",
        "(GPUs x USD a GPU-hour + judges and sandboxes an hour) x step / 3600",
        "usd",
        _BOUNDARY,
        _P10_P90 + "; the price is taken as it stands",
    ),
    Formula(
        "projected_usd_per_rollout",
        "Dollars a rollout on the target",
        "dollars a step on the target / rollouts a step",
        "usd/rollout",
        _BOUNDARY,
        _P10_P90 + "; the price is taken as it stands",
    ),
    Formula(
        "projected_usd_per_point",
        "Dollars a point on the target",
        "dollars a point of the run x dollars a step on the target / dollars a step of the run: the same "
        "steps "
        "buy the same gain",
        "usd/point",
        _BOUNDARY + "; the point itself at the asked boundary",
        "p10_p90 of joint draws with the 95 % interval of the run's dollars a point",
    ),
    Formula(
        "gpus_same_cycle",
        "GPUs for the same step time",
        "fewest GPUs, in whole nodes or trays, whose median step is not longer than the run's: tail, weight "
        "sync and what follows no GPU stay; more GPUs than the run's lose the share that did not scale in "
        "published pairs",
        "GPUs",
        _BOUNDARY,
        "p10_p90: counts at which the fast and the slow draws take the run's step time",
    ),
    Formula(
        "break_even_usd_per_gpu_h",
        "Break-even price",
        "p_b = (p_a G_a T_a + s (T_a - T_b)) / (G_b T_b): a step costs the same on both; s: judges and "
        "sandboxes an hour",
        "usd/gpu_h",
        _BOUNDARY,
        _P10_P90 + "; pays or does not where nine of ten draws agree",
    ),
    Formula(
        "factors_identified",
        "Model factors that the run fixes",
        "calibrated factors (shares of peaks, GB/s, seconds) that the run's own steps fix, of all; the "
        "others "
        "rest on a prior",
        "count",
        "the run",
        "exact",
    ),
    Formula(
        "left_after_claim",
        "Speed-up that a claim leaves",
        "step without / step with the claim, which changes the seconds of its phase alone (Amdahl 1967)",
        "ratio",
        _BOUNDARY,
        _P10_P90,
    ),
)
