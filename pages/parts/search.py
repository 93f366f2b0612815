"""Rows of a table that hold every word a person typed."""

from collections.abc import Sequence

import pandas as pd


def search_rows(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """Keep rows that hold every word of `text` in some cell; case does not matter."""
    if not text.strip() or frame.empty:
        return frame
    joined = frame.astype(object).map(str).agg(" ".join, axis=1).str.casefold()
    keep = pd.Series(True, index=frame.index)
    for word in text.casefold().split():
        keep &= joined.str.contains(word, regex=False)
    return frame[keep]


def chosen_first(frame: pd.DataFrame, chosen: Sequence[str], column: str = "platform_id") -> pd.DataFrame:
    """Put the rows of the chosen ids on top, in their order; the others keep theirs."""
    rank = {p: i for i, p in enumerate(chosen)}
    return frame.iloc[frame[column].map(rank).fillna(len(rank)).argsort(kind="stable")]
