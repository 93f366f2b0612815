"""Question 9: did the money buy anything?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "gain",
    "Did the money buy anything: is the new checkpoint better?",
    9,
    "Gain with its interval by run and benchmark, dollars a point, and what no test could have seen.",
    (
        text("""
# Did the money buy anything?

The best of many checkpoints looks better than it is, for luck is picked along with skill; and
scores of two harnesses are two measures. The gain below is between two named checkpoints, task by
task where both were kept.
"""),
        choice("after", "Checkpoint at the end", "last", "best"),
        ask("bought", "gain", ("forest", "rates"), after=of("after")),
        metric("gained", "bought", "gain"),
        metric("point_price", "bought", "usd_per_point"),
        metric("least_seen", "bought", "mdd", "Smallest gain these tests can see"),
        slider("worth", "What a point is worth", 200.0, 10.0, 5000.0, 10.0, "USD per point"),
        sql(
            "worth_it",
            """
SELECT run, benchmark, gain, usd, gain * $worth - usd AS surplus_usd, verdict
FROM bought_rates
WHERE gain IS NOT NULL AND usd IS NOT NULL
ORDER BY surplus_usd DESC
""",
        ),
        chart(
            "worth_chart",
            "worth_it",
            "bar",
            "run",
            "surplus_usd",
            colour="benchmark",
            unit="USD",
            title="Worth of the gain less its cost",
        ),
        text("A surplus counts only where the verdict is *better*: elsewhere the gain may be none."),
    ),
)
