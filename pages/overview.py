"""Overview: what each run cost and what it bought, a row a run."""

import streamlit as st

from analysis.spendlines import tied
from charts import ledger as ledger_charts
from pages.parts import example
from pages.parts.assumptions import show_how
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.ledgertable import controls, matching, phase_order, prepare, show_comparison, show_ledger
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

state = current()
result = compute_or_stop("ledger")
stop_when_empty("Overview", result)
lead = example.lead(state.store, list(result.tables["ledger"]["run"]))
show_head("Overview", [result], ["spend", "spend_known", "gain", "usd_per_point", "goodput"], lead=lead)

st.subheader("Ledger", anchor=False)
ledger = result.tables["ledger"]
rows = prepare(ledger, result.tables["scores"])
text, columns = controls(list(rows.columns))
rows = matching(rows, text)
if rows.empty:
    st.info(
        f"No run matches the filter. {len(ledger)} runs are hidden by it.", icon=":material/filter_alt_off:"
    )
else:
    selected = show_ledger(rows[columns], phase_order(ledger))
    if len(selected) > 1:
        show_comparison(rows[columns], selected)
    else:
        st.caption("Select two or more rows to compare them side by side.")

show_chart(picture(ledger_charts.score_by_usd, result, state.theme), key="overview-score-by-usd")
show_chart(picture(ledger_charts.spend_by_phase, result, state.theme), key="overview-spend-by-phase")
amounts = tied(result.tables["lines"])
if amounts:
    st.caption(md_escape(amounts))
show_table(result, "lost", title="Work that was lost, by attempt and cause")
show_how([result], "overview")
