"""Metrics of rent, reserve or own."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "own_usd_per_gpu_h",
        "Owned GPU-hour",
        "[C - s C / (1+r)^N] x r / (1 - (1+r)^-N) / (GPUs x 8,760) + housing + power + staff, support, "
        "spares, insurance and software; C = units, network, storage and set-up; r = 0: straight line",
        "usd/gpu_h",
        "own",
        "p10..p90 of draws of every input: half below its value, half above, evenly to its low and its high",
    ),
    Formula(
        "own_capital",
        "Capital part of an owned GPU-hour",
        "annuity of everything bought / (GPUs bought x 8,760)",
        "usd/gpu_h",
        "own",
        "exact for the inputs",
    ),
    Formula(
        "own_running",
        "Running part of an owned GPU-hour",
        "housing + power + staff + support + spares + insurance + software that were given",
        "usd/gpu_h",
        "own",
        "exact for the inputs",
    ),
    Formula(
        "own_useful",
        "Useful GPU-hour when owned",
        "owned GPU-hour / (allocated share x goodput)",
        "usd/gpu_h",
        "own",
        "exact for the inputs",
    ),
    Formula(
        "tenure_cost",
        "Cost of a useful GPU-hour",
        "present value of all payments / present value of useful GPU-hours at constant price; the same "
        "demand is served by every option, what its fleet does not hold is rented on demand",
        "usd/gpu_h",
        "rent | own",
        "p10..p90 of draws of inputs and quotes",
    ),
    Formula(
        "break_even_utilisation",
        "Break-even utilisation against on demand, over the price path",
        "present value of an owned GPU-hour / of a rented one over the horizon: allocated share of the "
        "bought hours above which owning is cheaper; goodput divides both sides; table `break_even` has it "
        "at today's prices too",
        "frac",
        "rent and own",
        "p10..p90 of draws of inputs and quotes",
    ),
    Formula(
        "break_even_months",
        "Break-even time against on demand",
        "months until the sum of (rent x utilisation - running) x 730 reaches the purchase, rent on its "
        "own path (a reservation: at each new term); not discounted, no residual value",
        "months",
        "rent and own",
        "exact for the inputs",
    ),
    Formula(
        "own_npv",
        "Owning saves against on demand",
        "present value of on demand - present value of owning over the horizon; above 0: owning is cheaper",
        "usd",
        "rent and own",
        "lowest..highest over the given price declines; without them p10..p90 of joint draws of the inputs",
    ),
    Formula(
        "service_ratio",
        "Cheapest service against the run",
        "(prompt x prefill + sampled x sample + trained x train) / 1,000,000 of the cheapest service that "
        "prices the method and model / dollars of the run's training and rollout pools or its own bill",
        "x",
        "rent | metered",
        "exact for the prices; the table has the range over failed attempts",
    ),
    Formula(
        "service_break_even",
        "Break-even GPU price",
        "what the cheapest service bills for the run's tokens / GPU-hours of the run",
        "usd/gpu_h",
        "rent | metered",
        "exact for the prices",
    ),
)
