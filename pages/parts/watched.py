"""What came of the files in the watched folder."""

import pandas as pd
import streamlit as st

from pages.parts.words import counted, md_escape
from reports.watch import VARIABLE, watching


def show_watched() -> None:
    """Tell of the watched folder; without one, how to have one."""
    watcher = watching()
    if watcher is None:
        st.caption(
            f"A folder can be watched: start the app with `{VARIABLE}=/path/to/folder`, and what lands in it "
            "is loaded once it rests, and again when it has grown."
        )
        return
    events = list(reversed(watcher.events))
    refused = sum(event.refused for event in events)
    st.markdown(
        f":material/visibility: Watching **{md_escape(str(watcher.folder))}**: "
        f"{counted(len(events) - refused, 'load')}, {counted(refused, 'refusal')} since the app started."
    )
    if events:
        st.dataframe(
            pd.DataFrame(
                {
                    "When (UTC)": [event.at for event in events],
                    "File": [event.file for event in events],
                    "Came of it": ["refused" if event.refused else "loaded" for event in events],
                    "In words": [event.text for event in events],
                }
            ),
            hide_index=True,
            alt="Files of the watched folder and what came of each",
        )
