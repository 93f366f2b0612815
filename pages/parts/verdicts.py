"""Verdicts in words: better, worse or cannot tell, benchmark by benchmark."""

import pandas as pd
import streamlit as st

from pages.parts.words import md_escape

WORDS = (
    ("better", "green", "better"),
    ("worse", "red", "worse"),
    ("cannot_tell", "gray", "cannot tell"),
    ("refused", "orange", "not comparable"),
)


def show_verdicts(verdicts: pd.DataFrame) -> None:
    """Draw one line a benchmark with a badge for each verdict and the number of runs that have it."""
    lines = []
    for row in verdicts.to_dict("records"):
        badges = [
            f":{colour}-badge[{row[name]} {word}]"
            for name, colour, word in WORDS
            if int(row.get(name) or 0) > 0
        ]
        lines.append(f"**{md_escape(row['benchmark'])}** {' '.join(badges)}")
    if lines:
        st.markdown("  \n".join(lines))
