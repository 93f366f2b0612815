"""Metrics of runs: spend, gain, phases, rollouts, utilisation."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "gpu_hours",
        "GPU-hours",
        "sum over allocations of gpus x seconds / 3600",
        "gpu_h",
        "any",
        "exact; a lower bound when the file holds no clock",
    ),
    Formula(
        "spend",
        "Spend",
        "sum over allocations of gpu_hours x usd_per_gpu_h + sandbox core_hours x usd_per_core_h; "
        "compute: surviving lineage only; campaign: every attempt; full: campaign + evals + booked costs",
        "usd",
        "compute | campaign | full",
        "lowest..highest published quote of the same platform and kind",
    ),
    Formula(
        "goodput",
        "Goodput",
        "step seconds on the surviving lineage x GPUs / billed GPU-seconds",
        "frac",
        "campaign",
        "exact; an upper bound when the file holds no clock; possible range where a resumption is assumed",
    ),
    Formula(
        "usd_by_phase",
        "Dollars by phase",
        "usd_per_s of a pool x its wall or exposed seconds; the rest of the step is unattributed, "
        "the rest of the allocation outside_steps",
        "usd",
        "compute | campaign | full",
        "as spend; never scaled to 100 %",
    ),
    Formula(
        "phase_share",
        "Share of the step",
        "sum of the phase's wall or exposed seconds / sum of step seconds, on its pool's clock",
        "frac",
        "none",
        "exact; the shares of overlapping pools do not add up",
    ),
    Formula(
        "unattributed",
        "Unattributed share of the step",
        "1 - sum of wall and exposed seconds of a pool's clock / sum of step seconds",
        "frac",
        "none",
        "exact; below 0 when phases overlap",
    ),
    Formula(
        "step_mean_s",
        "Mean step",
        "sum of step seconds / steps",
        "s",
        "none",
        "exact",
    ),
    Formula(
        "if_free",
        "Step time if a phase were free",
        "sync: step - phase; overlapping pools: step - (longest pool now - longest pool without the phase); "
        "only the trainer's clock known: step - its wait",
        "s",
        "none",
        "none: an identity on the mean step (Amdahl)",
    ),
    Formula(
        "gain",
        "Gain",
        "score(after) - score(before), before = the checkpoint the money started from, same benchmark, "
        "version, split, harness, effort, metric and k",
        "points",
        "none",
        "95 %: tasks paired, by clusters where tasks have them: CR2 variance with a Student quantile at "
        "Satterthwaite degrees of freedom, below 4 of these restricted wild cluster bootstrap-t; totals "
        "alone: Newcombe, or normal with an assumed correlation of a task's two results",
    ),
    Formula(
        "score",
        "Score",
        "passed / tasks, repeats and seeds of a checkpoint averaged",
        "frac",
        "none",
        "95 %: Wilson with the number of tasks in the file, else in the catalogue",
    ),
    Formula(
        "spent_by_then",
        "Spent by then",
        "earlier attempts inside the boundary + share of step seconds up to the evaluated step x cost of "
        "the attempt",
        "usd",
        "compute | campaign | full",
        "as spend",
    ),
    Formula(
        "mdd",
        "Smallest detectable difference",
        "(t(0.975) + t(0.80)) x standard error of the difference, at the degrees of freedom of the interval "
        "(normal quantiles where only totals are known)",
        "points",
        "none",
        "none",
    ),
    Formula(
        "usd_per_point",
        "Dollars per point",
        "spend / (100 x gain)",
        "usd_per_point",
        "compute | campaign | full",
        "95 %: joint draws of gain and price; refused when the gain's interval contains 0",
    ),
    Formula(
        "usd_per_rollout",
        "Dollars per rollout",
        "spend x share of steps that report rollouts / rollouts on the surviving lineage",
        "usd_per_rollout",
        "compute | campaign | full",
        "as spend",
    ),
    Formula(
        "usd_per_correct",
        "Dollars per verified-correct rollout",
        "spend / (rollouts x p), p = correct / rollouts in the steps that report both",
        "usd_per_correct",
        "compute | campaign | full",
        "95 %: joint draws of the price (90 % inside the quote range) and of p (Jeffreys); ends of several "
        "runs are added",
    ),
    Formula(
        "usd_per_informative",
        "Dollars per informative rollout",
        "spend / (rollouts x q x (1 - dropped / rollouts)), q = 1 - (groups_all_right + groups_all_wrong) / "
        "groups",
        "usd_per_informative",
        "compute | campaign | full",
        "95 %: joint draws of the price (90 % inside the quote range), of q over groups and of the share "
        "not dropped (Jeffreys); ends of several runs are added",
    ),
    Formula(
        "usd_per_mtok",
        "Dollars per million generated tokens",
        "spend / (generated tokens on the surviving lineage / 1e6)",
        "usd_per_million_tokens",
        "compute | campaign | full",
        "as spend",
    ),
    Formula("rollouts", "Rollouts", "sum of rollouts over steps", "count", "none", "exact"),
    Formula(
        "rollouts_per_s", "Rollouts per second", "sum of rollouts / sum of step_s", "1/s", "none", "exact"
    ),
    Formula(
        "tok_per_s",
        "Generated tokens per second",
        "sum of generated tokens / sum of step_s",
        "tok/s",
        "none",
        "exact",
    ),
    Formula(
        "tok_per_s_per_gpu",
        "Generated tokens per second and GPU",
        "sum of generated tokens / sum of (step_s x GPUs of all pools of the attempt)",
        "tok/s/GPU",
        "none",
        "exact",
    ),
    Formula(
        "sandbox_ok",
        "Sandbox calls without failure",
        "calls marked ok / calls that say whether they were",
        "frac",
        "none",
        "95 %: Wilson over calls",
    ),
    Formula(
        "sandbox_core_h",
        "Sandbox core-hours busy",
        "sum over calls of cores x busy_s / 3600",
        "core_h",
        "none",
        "exact for the calls that name their cores",
    ),
    Formula(
        "utilisation",
        "Time-weighted utilisation of a named measure",
        "sum of value x known seconds / known seconds",
        "frac",
        "none",
        "bounds: unknown time counted as 0 and as 1",
    ),
    Formula("coverage", "Coverage", "known seconds / (known + unknown seconds)", "frac", "none", "exact"),
    Formula(
        "coverage_of_allocated",
        "Sampled of the allocated GPU-hours",
        "known GPU-hours of the measure inside the runs' attempts / allocated GPU-hours",
        "frac",
        "none",
        "exact; above 1 when files sample GPUs or times outside the allocations",
    ),
    Formula(
        "energy",
        "Energy at the GPU",
        "sum of power_w x known seconds / 3.6e6",
        "kWh",
        "none",
        "exact for the covered time; nothing is added for the rest",
    ),
    Formula(
        "mean_power",
        "Mean power of a GPU",
        "sum of power_w x known seconds / known seconds",
        "W",
        "none",
        "exact for the covered time",
    ),
    Formula(
        "share_waiting_failed",
        "Share of the money that went to waiting and failed attempts",
        "(wait and exposed seconds of surviving work priced by pool + cost outside the surviving lineage) / "
        "spend",
        "frac",
        "campaign",
        "none: what the files call waiting, a lower bound; with an attempt whose survival is not known, an "
        "upper bound",
    ),
)
