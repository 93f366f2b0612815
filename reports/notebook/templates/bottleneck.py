"""Question 1: generation, sandboxes or training?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, slider, sql, text

TEMPLATE = Template(
    "bottleneck",
    "What bounds the step: generation, sandboxes or training?",
    1,
    "Share of each phase in seconds and dollars, and what a faster phase would be worth.",
    (
        text("""
# What bounds the step?

A phase is worth speeding up by what the step loses when it is gone, not by how long its workers
were busy: collectors that wait side by side add up to more seconds than the clock shows, and a
deadlocked GPU reports itself fully used. The shares below are of the step's own time, with what
nothing explains kept apart.
"""),
        ask("where", "bottleneck", ("step_stack", "if_free")),
        metric("step_time", "where", "step_mean_s"),
        metric("left_over", "where", "unattributed", "Share of the step in no phase"),
        text("""
## If one phase became faster

How much of one phase's time could go, others unchanged?
"""),
        slider("cut_frac", "Part of the phase that goes", 0.5, 0.0, 1.0, 0.05, "fraction"),
        sql(
            "faster",
            """
SELECT run, phase, max(step_mean_s) AS step_s,
       max(step_mean_s) - $cut_frac * max(step_mean_s - step_if_free_s) AS step_then_s
FROM where_phases
WHERE step_if_free_s IS NOT NULL
GROUP BY run, phase
ORDER BY run, step_then_s
""",
        ),
        chart(
            "faster_chart",
            "faster",
            "bar",
            "phase",
            "step_then_s",
            colour="run",
            unit="s",
            title="Step time with that part of one phase gone",
        ),
        text("""
## How fast are rollouts, and how long their tail?

A step ends with its slowest sequence.
"""),
        ask("rollout_speed", "rollouts", ("lengths", "sandbox")),
        metric("tokens_per_gpu", "rollout_speed", "tok_per_s_per_gpu"),
    ),
)
