"""The documentation of this version, beside the numbers that it explains."""

import re

import streamlit as st

from analysis.checks import CHECKS
from pages.parts.choose import dropdown
from pages.parts.frame import show_title
from pages.parts.notices import docs_address
from pages.parts.state import ROOT

FOLDER = ROOT / "docs"
FIRST = "README"
ALL = "all"
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)(?:\.\./)?(?:docs/)?([\w./-]+)\.md(#[\w-]*)?\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)


def topics() -> dict[str, str]:
    """Return file stem -> heading of every page, the index first."""
    paths = sorted(FOLDER.glob("*.md"), key=lambda path: (path.stem != FIRST, path.stem))
    return {path.stem: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in paths}


def shown(text: str, titles: dict[str, str]) -> str:
    """Return a page without heading, pictures and comments, its links leading to this app's own pages."""

    def to_topic(found: re.Match[str]) -> str:
        label, stem = found[1], found[2].rsplit("/", 1)[-1]
        title = titles.get(stem, stem)
        return f"[{title if label.endswith('.md') else label}]({docs_address(title)})"

    return _LINK.sub(to_topic, _PICTURE.sub("", _COMMENT.sub("", text.partition("\n")[2])))


def section(text: str, check: str) -> str:
    """Return the section of one check with its heading."""
    found = re.search(rf"^### [^\n]*`{re.escape(check)}`\n.*?(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[0].strip() if found else ""


titles = topics()
show_title("Documentation")
topic = dropdown("topic", "Topic", list(titles), FIRST, titles.__getitem__, width=360)
text = shown((FOLDER / f"{topic}.md").read_text(encoding="utf-8"), titles)
chosen = ALL
if topic == "checks":
    chosen = dropdown("check", "Check", [ALL, *CHECKS], ALL, width=360)
with st.container(width=860):
    if chosen != ALL:
        with st.container(border=True):
            st.markdown(section(text, chosen))
    st.markdown(text)
