"""Question 5: rent, reserve or buy?"""

from reports.notebook.templates.parts import Template, ask, chart, metric, of, slider, sql, text

TEMPLATE = Template(
    "rent_or_own",
    "Rent, reserve or own: at what utilisation does it flip?",
    5,
    "Cost of a useful GPU-hour by option, and the use of the fleet at which owning pays.",
    (
        text("""
# Rent, reserve or own?

A fleet sized for the peak stands idle most days, and what is bought now competes with rents that
fall and with a next generation before it is written off. So the hour that counts is a useful one,
over the whole term, with the path of prices in it. Cost of capital is yours to give: no published
number stands in for it.
"""),
        slider("wacc", "Cost of capital, a year", 0.1, 0.0, 0.3, 0.005, "fraction"),
        slider("life", "Years until it is written off", 4.0, 2.0, 7.0, 0.5, "years"),
        slider("gpus", "GPUs of the fleet", 72.0, 8.0, 2048.0, 8.0, "GPUs"),
        slider("use", "Part of the time in use", 0.6, 0.1, 1.0, 0.05, "fraction"),
        ask(
            "choices",
            "tenure",
            ("options", "crossing", "tornado"),
            wacc_frac=of("wacc"),
            life_years=of("life"),
            utilisation_frac=of("use"),
            gpus=of("gpus"),
        ),
        metric("useful_hour", "choices", "tenure_cost:own"),
        metric("flips_at", "choices", "break_even_utilisation"),
        metric("saved", "choices", "own_npv"),
        sql(
            "by_use",
            """
SELECT label, utilisation_frac, usd_per_useful_gpu_h
FROM choices_by_use
WHERE utilisation_frac >= 0.2
ORDER BY label, utilisation_frac
""",
        ),
        chart(
            "by_use_chart",
            "by_use",
            "line",
            "utilisation_frac",
            "usd_per_useful_gpu_h",
            colour="label",
            title="Cost of a useful GPU-hour by use of the fleet",
        ),
        text("""
## How much to commit

The demand of the days that were measured on this platform, and the mix it supports: the GPUs and
the use above are not taken here.
"""),
        ask(
            "demand",
            "tenure",
            ("duration", "npv"),
            wacc_frac=of("wacc"),
            life_years=of("life"),
        ),
    ),
)
