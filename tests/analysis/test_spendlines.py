"""The sentence that ties the amounts of runs together, worked out by hand."""

import pandas as pd

from analysis.spendlines import SPEND_LINES, tied


def lines(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [(run, "", line, bound, None, "", usd) for run, line, bound, usd in rows], columns=SPEND_LINES
    )


def test_parts_add_up_to_both_boundaries_to_the_cent() -> None:
    """1.004 + 0.003 = 1.007 of campaign, + 0.004 = 1.011 in full: the cent goes to the larger rest."""
    said = tied(
        lines(
            ("a", "gpus", "campaign", 0.502),
            ("b", "gpus", "campaign", 0.502),
            ("a", "sandbox", "campaign", 0.003),
            ("a", "evals", "full", 0.004),
            ("b", "credits", "net", -5.0),
        )
    )
    assert said.startswith(
        "2 runs together, at the chosen price and over all their time: GPUs $1.01 + sandbox cores $0.00 = "
        "$1.01 (campaign boundary) + evaluations $0.00 = $1.01 (full boundary)."
    )


def test_what_is_not_known_is_added_to_nothing() -> None:
    assert tied(lines(("a", "gpus", "campaign", float("nan")), ("a", "evals", "full", 1.0))) == ""
    assert tied(lines()) == ""
    assert "full" not in tied(lines(("a", "gpus", "campaign", 2.0)))
