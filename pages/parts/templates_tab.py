"""Our own CSV formats: a template to download and the meaning of each column."""

import pandas as pd
import streamlit as st

from data.readers.template_specs import CHOICES, Template, templates
from data.readers.templates import template_csv
from pages.parts.words import md_escape


def show_templates() -> None:
    """One row a template: what it holds, the download, and its columns on request."""
    st.caption(
        "For data that no reader knows. Any subset of the columns, in any order; the required ones are "
        "marked. A column under one of its other names is taken as well. Stamps are UTC unless they carry "
        "an offset."
    )
    for template in templates().values():
        with st.container(border=True, key=f"template_{template.name}"):
            _head(template)
            with st.expander(f"{len(template.names)} columns"):
                _columns(template)


def _head(template: Template) -> None:
    words, button = st.columns([5, 1], vertical_alignment="center")
    words.markdown(f"**{md_escape(template.title)}**  \n{md_escape(template.what.replace('*', ''))}")
    with button:
        st.download_button(
            "Template",
            lambda: template_csv(template.name),
            file_name=f"{template.name}.csv",
            mime="text/csv",
            key=f"download_{template.name}",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )


def _columns(template: Template) -> None:
    rows = [
        {
            "Column": name,
            "Required": column.required,
            "Unit or values": ", ".join(CHOICES.get(name, ())) or column.unit,
            "Meaning": column.description,
            "Other names": ", ".join(column.aliases),
        }
        for name, column in template.columns().items()
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"columns_of_{template.name}",
        alt=f"Columns of the template {template.title}",
        column_config={"Meaning": st.column_config.TextColumn(width="large")},
    )
