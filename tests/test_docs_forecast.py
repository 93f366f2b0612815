"""The numbers in the pages about commitments and forecasts are those of the code and the catalogue."""

from itertools import pairwise

from analysis.commitments_worlds import CommitmentsParams
from analysis.forecast import SHORT_DAYS
from analysis.forecast_model import DEFAULT_LEVEL, DRAWS, MIN_DAYS
from analysis.plan import parse
from data.catalogue import load_catalogue
from models.commitments import Mix, Outlook, Problem, World, bill
from models.commitments_solve import best_mix, unit_values
from models.forecast import BLOCK_DAYS, MONTHS_FOR_LEVEL, coverage, mean_pinball, pinball
from models.tenure import Demand
from tests.docs_pages import DOCS
from tests.test_docs_tenure import cells, page

BOOK = load_catalogue()


def example() -> Problem:
    outlook = Outlook(Demand(((8, 0.5), (24, 0.5))), (1.0,) * 12, (0.0,) * 12)
    return Problem((World("plan", 1.0, outlook, 1.0, (10.0,) * 12, None, 100.0, 500.0),), 8, 8)


def test_the_example_of_commitments() -> None:
    text, problem = page("commitments.md"), example()
    bills = [bill(problem, problem.worlds[0], Mix(servers_3y=n)) for n in (0, 1, 3)]
    for row, values in (
        ("reservation", [one.reserved_3y_usd for one in bills]),
        ("on demand", [one.burst_usd for one in bills]),
        ("total", [one.total_usd for one in bills]),
    ):
        assert cells(text, row)[1:] == [f"${usd:,.0f}" for usd in values]
    worth = [a - b for a, b in pairwise(unit_values(problem, 0, 3).values())]
    assert (
        [round(usd) for usd in worth] == [800, 480, 480] and "$800 as the first" in text and "$480 as" in text
    )
    assert best_mix(problem)[1] == min(one.total_usd for one in bills) - 300  # the first 8 owned at $500


def test_the_defaults_of_commitments() -> None:
    text, params = page("commitments.md"), CommitmentsParams()
    prices = {p.price_id: p.value for p in BOOK.prices()}
    rents = [prices[f"{name}-on-demand-neocloud-2026-10-03"] for name in ("h100-sxm", "b200-hgx")]
    claim = next(c for c in BOOK.claims() if c.claim_id == "b200-vs-h100-decode")
    assert f"rent x{rents[1] / rents[0]:.2f} for published decode x{claim.value:g}" in text
    assert f"Default drop {params.next_drop_frac:.0%}".replace("%", " %") in text
    assert (params.down_frac, params.next_months) == (0.3, 9) and "nine months" in text


def test_the_numbers_of_the_forecast_page() -> None:
    text = page("forecast.md")
    losses = [pinball(q, x, 12) for q, x in ((0.1, 8), (0.5, 10), (0.9, 14))]
    told = [f"{x:.2f}" for x in (*losses, mean_pinball((8, 10, 14), 12))]
    assert cells(text, "loss")[1:] == told
    found = coverage([True] * 8 + [False] * 2)
    assert f"is still {found.low:.0%} to {found.high:.0%}".replace("%", " %") in text
    assert (
        f"there are {DRAWS:,}" in text and f"Below {MIN_DAYS} days" in text and f"Below {SHORT_DAYS}" in text
    )
    assert BLOCK_DAYS == 7 and "blocks of seven days" in text
    assert f"from {MONTHS_FOR_LEVEL} whole months" in text
    assert f"below that {DEFAULT_LEVEL:.0%} a month".replace("%", " %") in text


def test_the_plan_line_of_the_page_is_one() -> None:
    line = page("forecast.md").split("One line a campaign: `")[1].split("`")[0]
    (one,) = parse([line])
    assert (one.name, one.start, one.end, one.gpu_h_per_day) == ("swe-rl", "2026-04", "2026-09", 480)
    assert (one.team, one.usd_per_gpu_h, one.ends) == ("rl", 2.75, (300, 700)) and one.text() == line
    assert (DOCS / "commitments.md").is_file()
