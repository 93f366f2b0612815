"""Question 3: how many racks for a cycle that comes back?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "racks",
    "How many racks post-train a 235B MoE every week?",
    3,
    "GPUs and whole racks for a weekly cycle, the chance to finish, and what longer responses do.",
    (
        text("""
# How many racks for a weekly cycle?

Twice the GPUs never halve the step: sandboxes, the longest sequence and weight sync stay. Racks
come whole, with one domain of fast links each, and failures take their share. The step time below
is a published one (Qwen3-235B-A22B on 64 GB200); put your own in its place, or take it from a run.
"""),
        slider("steps", "Steps a cycle", 200.0, 20.0, 1000.0, 10.0, "steps"),
        slider("step_s", "Step time on 64 GB200", 332.0, 30.0, 3600.0, 2.0, "s"),
        slider("length", "Responses longer by", 1.0, 0.5, 4.0, 0.25, "x"),
        ask(
            "plan",
            "cadence",
            ("probability", "parts", "tornado"),
            basis="stated",
            steps=of("steps"),
            step_s=of("step_s"),
            length_times=of("length"),
            targets=["gb200-nvl72"],
            draws=2000,
        ),
        metric("racks", "plan", "cadence_racks"),
        metric("chance", "plan", "cadence_p_finish"),
        metric("usd_a_cycle", "plan", "cadence_usd_per_cycle"),
        text("""
## When responses grow

Length grows during RL; the plan should survive it.
"""),
        sql("longer", "SELECT times, cycle_h, racks_needed FROM plan_length ORDER BY times"),
        chart(
            "longer_chart",
            "longer",
            "line",
            "times",
            "cycle_h",
            unit="h",
            title="Cycle time by growth of the responses",
        ),
    ),
)
