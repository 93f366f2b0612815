"""Templates of notebooks: a question each, one click to a notebook of one's own."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.parts.words import md_escape
from reports.notebook.document import Document
from reports.notebook.templates import TEMPLATES, Template, make

Create = Callable[[Callable[[], Document]], None]


def show_templates(create: Create, *, expanded: bool) -> None:
    """List the templates; `create` is called with what makes the document of the picked one."""
    title = f"Templates: {len(TEMPLATES)} questions, each a notebook to start from"
    with st.expander(title, expanded=expanded, key="nb_templates", icon=":material/library_books:"):
        for template in TEMPLATES:
            _row(template, create)


def _row(template: Template, create: Create) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"nb_tpl_{template.key}", wrap=False):
        st.button(
            "Use",
            key=f"nb_use_{template.key}",
            icon=":material/add:",
            on_click=create,
            args=(partial(make, template.key),),
            help=f"New notebook: {md_escape(template.title)}",
        )
        st.markdown(f"**{md_escape(template.title)}**  \n:small[{md_escape(template.description)}]")
