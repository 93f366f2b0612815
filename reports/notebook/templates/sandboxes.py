"""Question 7: how many sandbox cores a GPU?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "sandboxes",
    "How many CPU cores and sandboxes for each GPU?",
    7,
    "Cores a GPU with the wait they leave, and dollars of CPU against dollars of waiting GPUs.",
    (
        text("""
# How many sandbox cores?

The mean call is not what a step waits for: its tail is, and cold starts with it. More cores buy
less waiting until the knee, after which they idle. Arm cores need images built for Arm before any
speed of theirs counts.
"""),
        choice("hold", "A sandbox is held for", "rollout", "call"),
        slider("busy", "Time of a call in the sandbox", 2.0, 0.1, 60.0, 0.1, "s"),
        slider("wait", "Longest wait allowed, p95", 1.0, 0.1, 30.0, 0.1, "s"),
        ask(
            "cores",
            "sandboxes",
            ("by_cores", "cpus", "tornado"),
            hold=of("hold"),
            busy_s=of("busy"),
            longest_wait_s=of("wait"),
        ),
        metric("cores_a_gpu", "cores", "sandbox_cores_per_gpu"),
        metric("waiting_gpus", "cores", "sandbox_idle_usd"),
        sql(
            "knee",
            """
SELECT cores_per_gpu, idle_usd_per_step, cpu_usd_per_step
FROM cores_by_cores
ORDER BY cores_per_gpu
""",
        ),
        chart(
            "knee_chart",
            "knee",
            "line",
            "cores_per_gpu",
            "idle_usd_per_step",
            "cpu_usd_per_step",
            unit="USD per step",
            title="Waiting GPUs against sandbox cores",
        ),
    ),
)
