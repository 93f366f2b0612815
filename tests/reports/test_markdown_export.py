import pytest
from markdown_it import MarkdownIt

from reports.notebook.markdown_export import fence, inline, safe_markdown, table_lines, to_markdown
from tests.reports.notebook_report import DEAR_SQL, notebook_report
from tests.reports.samples import HOSTILE

NAMES = (
    HOSTILE, "a|b", "a\\|b", "```\n# big", "[x](javascript:alert(1))", "![i](http://e.example/p.png)", "x\ny",
    "&lt;b&gt;", "# no heading", "- no item", "1. no list", "---", "<http://e.example>", "$\\int$", "`code`",
    "**bold** _it_ ~~gone~~", "\\", "|", "[x]: javascript:alert(1)",
)  # fmt: skip
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
INERT = {
    "paragraph",
    "inline",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "heading",
    "bullet_list",
    "list_item",
}


def kinds(text):
    """Types of all tokens, without _open and _close."""
    found = set()
    for token in PARSER.parse(text):
        for one in [token, *(token.children or [])]:
            found.add(one.type.removesuffix("_open").removesuffix("_close"))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_is_and_is_no_markup(name):
    for line in (inline(name), f"- {inline(name)}", f"## {inline(name)}"):
        assert kinds(line) <= INERT | {"text", "text_special"}
    (shown,) = [t for t in PARSER.parse(f"## {inline(name)}") if t.type == "inline"]
    assert "".join(c.content for c in shown.children) == " ".join(name.split())


def test_no_name_breaks_a_table():
    lines = table_lines(NAMES, [NAMES, NAMES[::-1]])
    tokens = PARSER.parse("\n".join(lines))
    assert kinds("\n".join(lines)) <= INERT | {"text", "text_special"}
    counts = {kind: sum(t.type == f"{kind}_open" for t in tokens) for kind in ("table", "tr", "th", "td")}
    assert counts == {"table": 1, "tr": 3, "th": len(NAMES), "td": 2 * len(NAMES)}


@pytest.mark.parametrize("code", ["SELECT 1", "```\n</script>", "a ```` b\n`````", ""])
def test_nothing_closes_a_fence(code):
    (token,) = PARSER.parse(fence(code, "sql"))
    assert (token.type, token.content.rstrip(), token.info) == ("fence", code.rstrip(), "sql")


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "[x](javascript:alert(1))",
        "[x](java&#115;cript:alert(1))",
        "[x][1]\n\n[1]: data:text/html,x",
        "![p](https://e.example/p.png)",
        "<iframe src=x>",
        "<!-- x -->",
        "- <b>x</b>\n\n      <i>code</i>",
        "[x](//e.example)",
    ],
)
def test_a_text_cell_neither_loads_nor_runs_anything(text):
    assert not kinds(safe_markdown(text)) & {"html_inline", "html_block", "image", "link"}


def test_a_text_cell_keeps_what_is_harmless():
    text = "# Plan\n\n*so* [x](https://e.example/a) and 3 < 4\n\n```sql\nSELECT '<b>' < 2\n```"
    assert safe_markdown(text) == text


def test_a_notebook_as_text():
    text = to_markdown(notebook_report())
    fences = [t.content for t in PARSER.parse(text) if t.type == "fence"]
    assert DEAR_SQL + "\n" in fences
    assert "SELECT 1 < 2 AND '<b>'\n" in fences
    assert "**Least spend:** \\$5" in text
    assert "Content hash (SHA-256): " + notebook_report().hash in text
    assert "3 rows scanned · 1 returned" in text
    assert not kinds(text) & {"html_inline", "html_block", "image", "link"}


def test_a_report_as_text(report):
    text = to_markdown(report)
    (spend,) = [line for line in text.splitlines() if line.startswith("| Spend |")]
    assert "\\$41.2k" in spend
    assert "\\$30.0k – \\$52.0k (published quotes)" in spend
    assert "| price of B200 | \\$5.50 per GPU-hour | \\[analyst\\] |" in text
    assert "No step times. Load a step log." in text
    assert not kinds(text) & {"html_inline", "html_block", "image", "link"}
