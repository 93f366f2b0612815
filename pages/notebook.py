"""Notebook: text, analyses, SQL, charts, metrics and parameters that read like a short paper."""

import streamlit as st

from pages.parts import notebook_list, notebook_paper
from pages.parts.state import ROOT, current

st.html(ROOT / "pages/parts/notebook.css")
state = current()
notebook = notebook_list.asked(state.store)
if notebook is None:
    notebook_list.show(state)
else:
    notebook_paper.show(state, notebook)
