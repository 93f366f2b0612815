"""Load files, see where every record went, say what no file knows, undo."""

import streamlit as st

from pages.parts import details_tab, example, intake, templates_tab, uploads_tab
from pages.parts.notices import show_error
from pages.parts.state import current

store = current().store

st.title("Telemetry")
st.caption(
    "Files become runs, seconds and dollars. Every record is accounted for, originals are kept, "
    "and every upload can be undone."
)
error = st.session_state.pop("upload_error", None)
if error is not None:
    show_error(error)
intake.take_files(store)
with st.container(horizontal=True, vertical_alignment="center"):
    example.load_button(store, label="Load the example")
    with st.popover("From a terminal", icon=":material/terminal:"):
        st.caption("The same readers, the same receipt; works while this page is open.")
        st.code(".venv/bin/python cli.py import FILE… --run NAME --campaign NAME", language="bash")
intake.show_cards(store)

uploads, details, templates = st.tabs(
    ["Uploads", "Run details", "Templates"], key="telemetry_tab", on_change="rerun"
)
if uploads.open:
    with uploads:
        uploads_tab.show_uploads(store)
if details.open:
    with details:
        details_tab.show_details(store)
if templates.open:
    with templates:
        templates_tab.show_templates()
