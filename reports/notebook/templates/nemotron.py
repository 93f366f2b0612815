"""The worked example: what the stages of Nemotron 3 Ultra bought."""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "nemotron",
    "Worked: what the stages of Nemotron 3 Ultra bought",
    13,
    "Published scores of each stage, with cost assumed and every assumption on a slider.",
    (
        text("""
# What did each stage of Nemotron 3 Ultra buy?

NVIDIA's report prints the score of every stage, the recipe its GPUs; what it cost is nowhere
printed. So the cost is an assumption, made of the step time, the goodput and the price below: move
them and see which verdict stays. Scores are printed as points without a range. With the number of
tasks of each benchmark a range follows, and gains of one or two points turn out to lie inside it.
"""),
        slider("minutes", "Minutes a step", 7.0, 1.0, 40.0, 0.5, "min"),
        slider("goodput", "Part of the time that counts", 0.75, 0.3, 1.0, 0.05, "fraction"),
        slider("price", "Price of a GPU-hour", 2.75, 0.5, 12.0, 0.05, "USD"),
        slider("pairing", "Correlation of a task's two results", 0.5, 0.0, 0.9, 0.05),
        ask(
            "rlvr",
            "nemotron",
            None,
            before="sft",
            after="rlvr",
            step_minutes=of("minutes"),
            goodput=of("goodput"),
            usd_per_gpu_h=of("price"),
            correlation=of("pairing"),
        ),
        metric("stage_cost", "rlvr", "assumed_stage_usd", "Assumed cost of the RLVR stage"),
        text("## The stage after it"),
        ask(
            "mopd",
            "nemotron",
            None,
            before="rlvr",
            after="mopd1",
            step_minutes=of("minutes"),
            goodput=of("goodput"),
            usd_per_gpu_h=of("price"),
            correlation=of("pairing"),
        ),
        sql(
            "stages",
            """
SELECT 'SFT to RLVR' AS stage, benchmark, gain, low, high, verdict FROM rlvr_gains
UNION ALL
SELECT 'RLVR to MOPD 1', benchmark, gain, low, high, verdict FROM mopd_gains
ORDER BY stage, gain DESC
""",
        ),
        chart(
            "stages_chart",
            "stages",
            "bar",
            "benchmark",
            "gain",
            colour="stage",
            unit="points",
            title="Gain of two stages by benchmark",
        ),
        sql(
            "told",
            """
SELECT stage, count(*) FILTER (WHERE verdict = 'better') AS better, count(*) AS benchmarks
FROM stages
GROUP BY stage
ORDER BY stage
""",
        ),
        text("Comparing stages by their best benchmark is picking luck: read how many of all are *better*."),
        ask("own", "gain", ("rates",)),
    ),
)
