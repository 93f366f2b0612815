"""Markdown as HTML that can do nothing but be read: no HTML of its own, no images, plain links alone."""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

_SAFE = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


def _safe_links(state: "StateCore") -> None:
    for token in state.tokens:
        for child in token.children or []:
            if child.type == "link_open":
                child.attrSet("rel", "noopener noreferrer nofollow")
                child.attrSet("target", "_blank")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # not at every start of the app: reports are written on a click
    from markdown_it.common.utils import escapeHtml
    from markdown_it.renderer import RendererHTML

    class Renderer(RendererHTML):
        """Images are their words: a picture from elsewhere would tell its server who reads this."""

        def image(self, tokens, idx, options, env):  # type: ignore[no-untyped-def]
            return escapeHtml(self.renderInlineAsText(tokens[idx].children or [], options, env))

    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer).enable(
        ["table", "strikethrough"]
    )
    parser.validateLink = lambda url: bool(_SAFE.match(url.strip()))  # type: ignore[method-assign]
    parser.core.ruler.push("safe_links", _safe_links)
    return parser


def to_html(text: str) -> str:
    """Return Markdown as HTML. HTML in it is shown as typed; links other than http(s) and mailto stay text.

    >>> to_html("**a** <b>")
    '<p><strong>a</strong> &lt;b&gt;</p>\\n'
    """
    return str(_parser().render(text))
