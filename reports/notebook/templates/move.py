"""Question 6: is the next platform worth its price?"""

from reports.notebook.templates.parts import Template, ask, chart, choice, metric, of, slider, sql, text

TEMPLATE = Template(
    "move",
    "Should we move to another platform, and at what price per GPU-hour?",
    6,
    "Projected step time by phase, the price below which moving pays, and which phase drives it.",
    (
        text("""
# Is the next platform worth its price?

A speed-up claimed for pre-training says nothing of sandboxes, and FP4 against BF16 is two changes
at once. Each phase is projected by what it depends on, with the range of the published facts; the
answer is a price below which moving pays, to be held against a quote.
"""),
        choice("hold", "Hold equal", "gpus", "step_time", "budget"),
        ask(
            "other",
            "projection",
            ("by_phase", "breakeven", "drivers"),
            hold=of("hold"),
            targets=["gb300-nvl72", "vera-rubin-nvl72"],
            draws=2000,
        ),
        metric("pays_below", "other", "break_even_usd_per_gpu_h"),
        metric("step_there", "other", "projected_step_s"),
        slider("quote", "A quote in hand", 4.0, 0.5, 15.0, 0.1, "USD per GPU-hour"),
        sql(
            "against",
            """
SELECT platform, usd_per_gpu_h AS breakeven_usd_per_gpu_h, $quote AS quote_usd_per_gpu_h,
       usd_per_gpu_h - $quote AS room_usd_per_gpu_h,
       CASE WHEN $quote < usd_per_gpu_h_low THEN 'pays over the whole range'
            WHEN $quote > usd_per_gpu_h_high THEN 'does not pay'
            ELSE 'cannot tell: the quote lies in the range' END AS verdict
FROM other_breakeven
""",
        ),
        chart(
            "against_chart",
            "against",
            "bar",
            "platform",
            "breakeven_usd_per_gpu_h",
            "quote_usd_per_gpu_h",
            unit="USD per GPU-hour",
            title="Price below which moving pays, and the quote",
        ),
        text("How wrong such projections have been on models never seen:"),
        ask("errors", "backtest", ("errors",)),
    ),
)
