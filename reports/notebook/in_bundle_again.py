"""Last code cell of an exported notebook: the same questions asked of a home of today, beside a checkout."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

CHECKOUT = ""  # folder of a checkout of Intelligence per Dollar; empty looks in the folders above this one
HOME = ""  # its home with the data; empty is IPD_HOME, else var/ in the checkout


def checkout() -> str:
    """The folder to import from, '' where there is none."""
    places = [Path(CHECKOUT)] if CHECKOUT else [Path.cwd(), *Path.cwd().parents]
    return next((str(p) for p in places if (p / "analysis" / "api.py").is_file()), "")


def beside(asked: list[dict[str, Any]]) -> pd.DataFrame:
    """Headline numbers as frozen and as this checkout computes them today, a row a number."""
    from analysis import open_home
    from data.errors import UserError

    rows = []
    with open_home(HOME or None) as home:
        for one in asked:
            try:
                found = home.ask(one["question"], one["params"])
            except UserError as error:
                print(f"{one['question']}: not computed. {error}")
                continue
            now = {figure.name: figure for figure in found.headline}
            for frozen in one["headline"]:
                new = now.get(frozen["name"])
                value = new.value if new else None
                both = value is not None and frozen["value"] is not None
                rows.append(
                    {
                        "question": one["question"],
                        "number": frozen["label"] or frozen["name"],
                        "unit": frozen["unit"],
                        "frozen": frozen["value"],
                        "recomputed": value,
                        "change": value - frozen["value"] if both else None,
                        "why none": (new.missing or "") if new else "no such number any more",
                    }
                )
    return pd.DataFrame(rows)


folder = checkout()
if not folder:
    print("Skipped: no checkout of Intelligence per Dollar here. Set CHECKOUT to its folder to recompute.")
else:
    sys.path.insert(0, folder)
    display(beside(ASKED))  # type: ignore[name-defined]  # noqa: F821 - both are the notebook's
