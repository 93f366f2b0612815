"""Question 8: what split of rollout, training and judge GPUs?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "split",
    "What split of rollout, training and judge GPUs?",
    8,
    "Step time by split at a fixed total, what starves, and what four GPUs to either side do.",
    (
        text("""
# Which split?

At a fixed total the step is bounded by the slower pool, and the buffer between them hides small
differences. A new split also means other parallel layouts and older rollouts: the age beside each
split is part of its price.
"""),
        slider("age", "Oldest rollouts allowed", 1.0, 1.0, 8.0, 1.0, "updates"),
        slider("steps", "Steps of the campaign", 200.0, 20.0, 2000.0, 10.0, "steps"),
        ask("balance", "pools", ("splits", "modes", "tornado"), max_staleness=of("age"), steps=of("steps")),
        metric("step", "balance", "pool_step"),
        metric("rollout_gpus", "balance", "pool_rollout_gpus"),
        metric("starved", "balance", "pool_starved"),
        sql(
            "campaign",
            """
SELECT rollout_gpus, train_gpus, step_s, usd_per_step * $steps AS campaign_usd, starved_frac, blocked_frac
FROM balance_splits
ORDER BY rollout_gpus
""",
        ),
        chart(
            "campaign_chart",
            "campaign",
            "line",
            "rollout_gpus",
            "campaign_usd",
            unit="USD",
            title="Dollars of the campaign by rollout GPUs",
        ),
    ),
)
