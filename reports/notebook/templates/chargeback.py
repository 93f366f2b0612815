"""Question 11: where is idle, and whose is it?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "chargeback",
    "Where is idle, whose is it, and does the chargeback add up to the invoice?",
    11,
    "The invoice to the cent, by who is known to bear it, and what of it worked.",
    (
        text("""
# Does the chargeback add up?

Charging by what was used flatters everyone and leaves idle to nobody; an average over many GPUs
hides the few that never worked. Here each line of the invoice is explained or stays open, and the
sum is that of the invoice.
"""),
        choice("example", "Count the made-up example beside your own data", "auto", "with"),
        ask("bill", "reconciliation", ("explained", "bridge"), example=of("example")),
        metric("explained", "bill", "bill_explained"),
        metric("open", "bill", "bill_open", "Still open"),
        sql(
            "bearers",
            """
SELECT coalesce(team, 'nobody yet') AS team, how, sum(usd) AS usd
FROM bill_bearers
GROUP BY ALL
ORDER BY usd DESC
""",
        ),
        chart(
            "bearers_chart",
            "bearers",
            "bar",
            "team",
            "usd",
            colour="how",
            unit="USD",
            title="Dollars by team and by how they were matched",
        ),
        text("""
## What of it worked

No measure of use proves work; each says what it leaves open.
"""),
        choice("measure", "Measure", "gpu_util", "sm_active", "tensor_active", "dram_active"),
        slider("idle_below", "Idle below SM activity of", 0.05, 0.0, 0.5, 0.01, "fraction"),
        ask("ladder", "waste", ("ladder", "waterfall"), idle_sm_frac=of("idle_below"), example=of("example")),
        metric("worked", "ladder", "working_share"),
        ask("busy", "utilisation", ("heat", "timeline"), measure=of("measure")),
    ),
)
