"""Question 12: what will the coming months cost?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "quarter",
    "What will next quarter cost, and who is on the frontier?",
    12,
    "Spend and GPU-hours of the coming months with their range, against a budget, beside services' bills.",
    (
        text("""
# What will next quarter cost?

Responses grow longer as RL goes on, so last month's tokens a rollout understate the next ones; and
a single number is a forecast nobody can check. These are ranges, kept by date so that they can be
scored later.
"""),
        slider("months", "Months ahead", 3.0, 1.0, 12.0, 1.0, "months"),
        slider("growth", "Growth of demand, a month", 0.05, -0.2, 0.5, 0.01, "fraction"),
        slider("budget", "Budget, a month", 5000.0, 100.0, 100000.0, 100.0, "USD"),
        ask(
            "coming",
            "forecast",
            ("months", "gpu_hours", "tornado"),
            months=of("months"),
            growth_frac_month=of("growth"),
            budget_usd_month=of("budget"),
        ),
        metric("spend", "coming", "forecast_usd"),
        metric("over", "coming", "forecast_over"),
        sql(
            "fan",
            """
SELECT month, usd_p10, usd_p50, usd_p90, $budget AS budget_usd
FROM coming_months
ORDER BY month
""",
        ),
        chart(
            "fan_chart",
            "fan",
            "line",
            "month",
            "usd_p10",
            "usd_p50",
            "usd_p90",
            "budget_usd",
            unit="USD",
            title="Spend by month, and the budget",
        ),
        text("""
## The same work at a service

A price by the token grows with each turn unless prefixes are kept.
"""),
        ask("services", "services", ("side_by_side",)),
        ask("front", "frontier", ("pareto",), by="generation"),
    ),
)
