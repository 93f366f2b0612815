"""Two tabs saved one notebook: what each holds, and the choice between reload and copy. Nothing is lost."""

import streamlit as st

from pages.parts import notebook_list
from pages.parts import notebook_session as session
from pages.parts.notebook_new import KINDS
from pages.parts.words import counted, md_escape
from reports.notebook.document import AnyCell, TextCell, name_of, parse_document

LONGEST = 160


def show_clash(now: session.Open, clash: session.Clash) -> None:
    """Draw the banner: who saved when, the cells that differ, and the two ways on."""
    theirs = parse_document(clash.theirs.document)
    differ = session.cells_that_differ(now.document, theirs)
    with st.container(border=True, key="nb_clash"):
        gone = "deleted" if clash.theirs.deleted else "saved"
        st.markdown(
            f"**Another tab or person {gone} this notebook at {clash.theirs.changed:%H:%M:%S} UTC, after you "
            f"opened it.** Your change is not lost: it is kept as *{md_escape(clash.kept.title)}*."
        )
        order = [c.id for c in now.document.cells] != [c.id for c in theirs.cells] and not differ
        title = now.document.title != theirs.title
        said = (
            [f"{counted(len(differ), 'cell')} {'differs' if len(differ) == 1 else 'differ'}"]
            if differ
            else []
        )
        said += ["the order of the cells differs"] if order else []
        said += [f"the title is '{theirs.title}' there"] if title else []
        st.caption(md_escape(f"Between yours and theirs: {'; '.join(said) or 'nothing'}."))
        for _, mine, other in differ:
            _pair(mine, other)
        with st.container(horizontal=True):
            if not clash.theirs.deleted:
                st.button(
                    "Reload theirs", key="nb_theirs", icon=":material/sync:", on_click=session.take_theirs
                )
            st.button(
                "Keep mine as a copy",
                key="nb_mine",
                icon=":material/content_copy:",
                type="primary",
                on_click=notebook_list.open_notebook,
                args=(clash.kept.id,),
            )


def _pair(mine: AnyCell | None, theirs: AnyCell | None) -> None:
    known = mine or theirs
    if known is None:
        return
    what = f"{KINDS[known.kind].title} `{name_of(known)}`" if name_of(known) else "Text"
    lines = [f"**{what}**", *_lines("yours", mine, theirs), *_lines("theirs", theirs, mine)]
    st.markdown("  \n".join(lines))


def _lines(whose: str, cell: AnyCell | None, other: AnyCell | None) -> list[str]:
    if cell is None:
        return [f"{whose}: no such cell"]
    if other is None or cell.kind != other.kind:
        return [f"{whose}: {md_escape(_short(_said(cell)))}"]
    if isinstance(cell, TextCell):
        return [f"{whose}: {md_escape(_short(cell.markdown))}"]
    held, against = cell.model_dump(), other.model_dump()
    parts = [f"{name} = {held[name]}" for name in held if held[name] != against[name]]
    return [f"{whose}: {md_escape(_short('; '.join(parts)))}"]


def _said(cell: AnyCell) -> str:
    return cell.markdown if isinstance(cell, TextCell) else f"{KINDS[cell.kind].title} {name_of(cell)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
