"""Metrics of pools, sandboxes and weight syncs."""

from analysis.formulas.formula import Formula

_DRAWS = "p10..p90 of draws of every input: half below its value, half above, evenly to its low and its high"
METRICS = (
    Formula(
        "pool_step",
        "Step at the best split",
        "mean over batches of S = max(engines free, T(n-1-lag)), A = max(S + rollouts + tail, max(A(n-1), S) "
        "+ judge), T = max(T(n-1), A) + training, plus what stops both; seconds of a pool = GPU-seconds / "
        "GPUs; the split with the shortest mean step",
        "s",
        "–",
        _DRAWS,
    ),
    Formula(
        "pool_rollout_gpus", "GPUs that roll out", "of the best split", "GPUs", "–", "exact for the inputs"
    ),
    Formula(
        "pool_usd_per_step",
        "A step",
        "GPUs of all pools x price x step / 3,600",
        "usd",
        "compute | campaign | full",
        _DRAWS + ", and of the quotes",
    ),
    Formula(
        "pool_starved",
        "Trainer waits for rollouts",
        "sum of max(0, A(n) - T(n-1)) / sum of steps",
        "frac",
        "–",
        "exact for the inputs and their variation",
    ),
    Formula(
        "pool_blocked",
        "Engines wait for the trainer",
        "sum of max(0, T(n-1-lag) - engines free) / sum of steps",
        "frac",
        "–",
        "exact for the inputs and their variation",
    ),
    Formula(
        "pool_saved",
        "Saved a step against the run's split",
        "step at the run's split - step at the best one, both modelled",
        "s",
        "–",
        "exact for the inputs",
    ),
    Formula(
        "pool_age",
        "Age of a batch",
        "mean number of updates between the start of a batch and its training",
        "updates",
        "–",
        "exact for the inputs and their variation",
    ),
    Formula(
        "pool_breakeven_steps",
        "Break-even: more steps for the same score, an update of age",
        "(synchronous step / step - 1) / age: above it synchronous steps are cheaper for the same score; "
        "below zero they are cheaper even if age costs no steps",
        "frac",
        "–",
        "exact for the inputs",
    ),
    Formula(
        "sandbox_cores_per_gpu",
        "Sandbox cores a GPU",
        "sandboxes x cores of one / GPUs; one a rollout in flight, or, held by the call, the fewest with "
        "C(c, a) e^(-(c/s - rate) t) <= 0.05 (Erlang C), at most those in flight",
        "cores",
        "–",
        _DRAWS,
    ),
    Formula(
        "sandbox_cores", "Sandbox cores", "sandboxes x cores of one", "cores", "–", "exact for the inputs"
    ),
    Formula(
        "sandbox_usd_per_rollout",
        "A rollout, GPUs and sandboxes",
        "(GPUs x price + cores x price + GiB x price) x rollout phase / 3,600 / rollouts",
        "usd",
        "compute | campaign | full",
        _DRAWS,
    ),
    Formula(
        "sandbox_cpu_usd",
        "Sandbox CPUs a step",
        "(cores x price + GiB x price) x rollout phase / 3,600",
        "usd",
        "compute | campaign | full",
        "exact for the inputs",
    ),
    Formula(
        "sandbox_wait_usd",
        "GPU dollars lost to waiting for sandboxes",
        "(phase - phase with a sandbox for everybody and no start) x GPUs x price / 3,600",
        "usd",
        "compute | campaign | full",
        "exact for the inputs",
    ),
    Formula(
        "sandbox_idle_usd",
        "GPU dollars lost to tools and waits",
        "(phase - phase without tools) x GPUs x price / 3,600; phase = rollouts / in flight x (decode + "
        "calls x (call + wait) + start), a decode step (f + (1 - f) x share of the batch) of a full one",
        "usd",
        "compute | campaign | full",
        _DRAWS,
    ),
    Formula(
        "sandbox_wait_p95",
        "Wait for a sandbox, p95",
        "closed pool of the rollouts in flight (M/M/c//N)",
        "s",
        "–",
        "exact for the inputs",
    ),
    Formula(
        "sandbox_open_need",
        "Sandboxes if they are asked for at random",
        "fewest by Erlang C with which 95 of 100 wait at most the longest wait",
        "sandboxes",
        "–",
        "exact for the inputs",
    ),
    Formula(
        "weight_sync_s",
        "Weight sync a step",
        "as timed, less what runs beside other work; from a published engine: bytes of one copy / (its GB/s "
        "of one copy x engine GPUs / those it was measured on)",
        "s",
        "–",
        "p10..p90 of the run's mean; of a published engine: rate an engine GPU kept .. rate of all links "
        "kept, the longer x 26/14 (another cluster)",
    ),
    Formula(
        "weight_sync_gb_s",
        "Rate of one copy",
        "parameters x bytes of a weight / seconds",
        "GB/s",
        "–",
        "as weight_sync_s",
    ),
    Formula(
        "weight_sync_usd_per_step",
        "Weight sync, a step",
        "exposed seconds x GPUs of both pools x price / 3,600",
        "usd",
        "compute | campaign | full",
        "seconds as weight_sync_s, price over its quotes",
    ),
    Formula(
        "weight_sync_usd_per_day",
        "Weight sync, a day",
        "24 x GPUs x price x exposed seconds / step x share of the day that steps",
        "usd",
        "compute | campaign | full",
        "seconds as weight_sync_s, price over its quotes",
    ),
    Formula(
        "weight_sync_saved",
        "A faster engine saves, a day",
        "what the day's steps cost now - what as many cost with the fastest engine that the links can carry",
        "usd",
        "compute | campaign | full",
        "rate per engine GPU kept .. rate of all links kept",
    ),
    Formula(
        "weight_sync_speedup",
        "Step with the fastest engine",
        "step / (step - exposed now + exposed then)",
        "x",
        "–",
        "rate per engine GPU kept .. rate of all links kept",
    ),
)
