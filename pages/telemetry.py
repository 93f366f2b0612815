"""Load files, see where every record went, say what no file knows, undo."""

import streamlit as st

from pages.parts import details_tab, intake, templates_tab, uploads_tab, watched
from pages.parts.frame import show_title
from pages.parts.notices import show_error
from pages.parts.state import current

TABS = ["Uploads", "Run details", "Templates"]
store = current().store
intake.go_on()

show_title("Telemetry")
st.caption(
    "Files become runs, seconds and dollars. Every record is accounted for, originals are kept, "
    "and every upload can be undone."
)
error = st.session_state.pop("upload_error", None)
if error is not None:
    show_error(error)
intake.take_files(store)
intake.show_cards(store)

uploads, details, templates = st.tabs(
    TABS, default=st.session_state.get("open_tab"), key="telemetry_tab", on_change="rerun"
)
if uploads.open:
    with uploads:
        uploads_tab.show_uploads(store)
        watched.show_watched()
if details.open:
    with details:
        details_tab.show_details(store)
if templates.open:
    with templates:
        templates_tab.show_templates()
