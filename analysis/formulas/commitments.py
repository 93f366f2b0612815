"""Metrics of commitments: which GPUs to own, reserve and rent on demand."""

from analysis.formulas.formula import Formula

_DRAWS = "p10..p90 over draws of every input and quote and over the worlds, weighted"
METRICS = (
    Formula(
        "commitments_cost",
        "Expected cost of the cheapest mix",
        "min over units, 3-year and first-year servers of the probability-weighted present value: committed "
        "GPUs all the time + on demand x GPUs beyond them; later one-year reservations are chosen when the "
        "world is known",
        "usd",
        "rent and own",
        _DRAWS,
    ),
    Formula(
        "commitments_saves",
        "Saved against all on demand",
        "expected cost of renting everything on demand - expected cost of the cheapest mix",
        "usd",
        "rent and own",
        "p10..p90 over draws of every input and quote, weighted over the worlds",
    ),
    Formula(
        "commitments_worst_tenth",
        "Mean of the worst tenth",
        "mean cost of the mix over the worst 10 % of the probability (CVaR) of draws and worlds",
        "usd",
        "rent and own",
        "exact for the draws",
    ),
    Formula(
        "commitments_base",
        "GPUs to commit to now",
        "owned + reserved for 3 years + reserved for the first year, whole units and servers",
        "GPUs",
        "rent and own",
        "lowest..highest over the inputs of the tornado, each alone at its ends",
    ),
    Formula(
        "rack_value",
        "One more rack would save",
        "expected cost of everything else at the chosen racks - at one more",
        "usd",
        "rent and own",
        "exact for the inputs",
    ),
    Formula(
        "rack_shadow",
        "Shadow price of a rack",
        "dual of `racks = chosen` in the linear programme (HiGHS), servers divisible: as if a whole rack "
        "saved what its first GPUs do",
        "usd",
        "rent and own",
        "exact for the inputs",
    ),
    Formula(
        "rack_cost",
        "One more rack costs",
        "present value of owning one rack (or server) over the horizon, weighted over the worlds",
        "usd",
        "own",
        "exact for the inputs",
    ),
    Formula(
        "commitments_regret",
        "Regret",
        "cost of the mix in that world - cost of the mix that would have been best there",
        "usd",
        "rent and own",
        "exact for the inputs",
    ),
    Formula(
        "perfect_information",
        "Most that knowing the future is worth",
        "expected cost of the mix - expected cost when the best mix is chosen in each world",
        "usd",
        "rent and own",
        "exact for the inputs",
    ),
)
