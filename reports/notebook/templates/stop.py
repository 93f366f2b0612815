"""Question 10: stop, or pay for the next point?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "stop",
    "Should this run stop, and what does the next point cost?",
    10,
    "Fitted score against dollars, the price of the next point, and where it is no longer worth it.",
    (
        text("""
# Stop, or buy the next point?

A power law has no top and promises points for ever; a reward on the training tasks rises where the
benchmark has long stood still; and the first hours fit anything. The curve here has a top, is
fitted to the benchmark, and leaves its warm-up out.
"""),
        slider("budget", "Budget", 1000.0, 100.0, 20000.0, 100.0, "USD"),
        slider("worth", "What a point is worth", 200.0, 10.0, 5000.0, 10.0, "USD per point"),
        ask(
            "curve", "learning_curve", ("fitted", "marginal"), budget_usd=of("budget"), worth_usd=of("worth")
        ),
        metric("next_point", "curve", "usd_per_next_point"),
        metric("at_budget", "curve", "score_at_budget"),
        metric("top", "curve", "curve_top"),
        sql(
            "prices",
            """
SELECT run, usd, usd_per_point, $worth AS worth_usd_per_point
FROM curve_marginal
WHERE usd_per_point < 20 * $worth
ORDER BY usd
""",
        ),
        chart(
            "prices_chart",
            "prices",
            "line",
            "usd",
            "usd_per_point",
            "worth_usd_per_point",
            unit="USD per point",
            title="Price of the next point, and what it is worth",
        ),
    ),
)
