"""Question 4: what did failed, cancelled and restarted runs cost?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "lost",
    "What did failed, cancelled and restarted runs cost?",
    4,
    "Dollars that bought nothing, by cause, and the attempts behind them.",
    (
        text("""
# What bought nothing?

Time is lost from the last checkpoint to the failure, then again while the job waits and starts.
Counters that run on over a restart would count it twice, and a cancelled run may still have left a
checkpoint somebody uses: each attempt is judged by what survived of it.
"""),
        choice("example", "Count the made-up example beside your own data", "auto", "with"),
        ask("spent", "campaigns", ("lost_by_cause", "spend_by_week"), example=of("example")),
        metric("lost", "spent", "lost_usd", "Bought nothing"),
        metric("failed", "spent", "spend_failed", "Failed attempts"),
        slider("most", "Attempts to list", 10.0, 1.0, 50.0, 1.0),
        sql(
            "worst",
            """
SELECT run, attempt, team, kind, cause, usd, gpu_h
FROM spent_top
ORDER BY usd DESC
LIMIT $most
""",
        ),
        chart(
            "worst_chart",
            "worst",
            "bar",
            "run",
            "usd",
            colour="kind",
            unit="USD",
            title="Dollars lost by run and kind",
        ),
    ),
)
