"""Question 2: which mode is cheaper for the same score?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "sync_or_async",
    "Synchronous, one step off or asynchronous: which is cheaper for the same score?",
    2,
    "Score at equal dollars and dollars at equal score, with age of the policy and dropped rollouts.",
    (
        text("""
# Which mode buys the score cheaper?

Equal numbers of steps are no fair comparison: an asynchronous step is shorter and may teach less.
Runs are compared where they had spent the same, and stale rollouts that were thrown away are
counted, for they were paid.
"""),
        choice("axis", "Compare at equal", "usd", "gpu_hours", "tokens"),
        ask("scores", "learning", ("curve",), x=of("axis")),
        slider("budget", "Budget", 500.0, 100.0, 5000.0, 50.0, "USD"),
        ask("modes", "frontier", ("pareto", "probabilities"), by="mode", budget_usd=of("budget")),
        metric("how_sure", "modes", "best_frac"),
        text("""
## What was stale or dropped

Dropping old groups favours short, easy tasks: look for it here.
"""),
        sql(
            "stale",
            """
SELECT run, step, staleness, dropped
FROM steps
WHERE staleness IS NOT NULL
ORDER BY run, step
""",
        ),
        chart(
            "age",
            "stale",
            "line",
            "step",
            "staleness",
            colour="run",
            unit="updates",
            title="Age of the policy that made the rollouts",
        ),
        ask("thrown", "rollouts", ("staleness", "dropped")),
    ),
)
