"""Intelligence per dollar: is the new checkpoint better, and what did a point cost?

A section is a function of what is asked that draws itself and returns the results it drew, for the report.
The verdict and the answer line come before the other sections are computed.
"""

from collections.abc import Callable

import streamlit as st

from analysis.result import Result
from pages.parts import intelligence_frontier as frontier
from pages.parts import intelligence_further as further
from pages.parts import intelligence_gain as gain
from pages.parts import intelligence_spent as spent
from pages.parts import intelligence_units as units
from pages.parts.assumptions import show_how
from pages.parts.compute import compute_or_stop
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.intelligence_controls import Asked, controls
from pages.parts.intelligence_metrics import show_metrics
from pages.parts.share import share_bar
from pages.parts.state import current

TITLE = "Intelligence per dollar"
SECTIONS: tuple[Callable[[Asked], list[Result]], ...] = (
    spent.show,
    further.show,
    frontier.show,
    units.show,
)

state = current()
head = st.container()
every = compute_or_stop("gain")
stop_when_empty(TITLE, every)
asked = controls(every, state.theme)
results = gain.show(asked)
with head:
    place = show_head(TITLE, results, bar=False)
for section in SECTIONS:
    results += section(asked)
with place:
    share_bar(results, TITLE)
show_metrics()
st.subheader("Tables", anchor=False)
behind = {result.analysis: result for result in results}
gain.show_numbers(behind["gain"])
spent.show_numbers(behind["learning"])
frontier.show_numbers(behind["frontier"])
show_how(results, "intelligence")
