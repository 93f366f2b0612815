"""Headline figures stand where the text stands, whatever Streamlit's own rules say about lists."""

from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from analysis.result import Figure
from charts import theme
from pages.parts.download import heading_html
from pages.parts.figures import card_html

CSS = Path(__file__).resolve().parents[2] / "pages/parts/frame.css"
STREAMLITS = "p, dl { margin: 0 0 1rem } .stHtml-x ul, .stHtml-x dl { padding-left: 2rem; margin-left: 30px }"


def test_the_first_card_is_flush_with_the_answer(browser: Any) -> None:
    page = browser.new_page()
    card = card_html(Figure(name="spend", label="Spend", value=None, unit="usd", missing="no price"))
    styles = f"<style>{STREAMLITS}</style><style>{CSS.read_text(encoding='utf-8')}</style>"
    page.set_content(f'{styles}<p>answer</p><div class="stHtml-x"><dl class="ipd-figures">{card}</dl></div>')
    left = "selector => document.querySelector(selector).getBoundingClientRect().left"
    assert page.evaluate(left, ".ipd-figures > div") == page.evaluate(left, "p")
    page.close()


def test_a_card_says_what_it_counts_and_within_which_boundary() -> None:
    share = Figure(name="goodput", label="Goodput", value=0.907, unit="frac", n=4, boundary="campaign")
    assert "<dd>n = 4 attempts · campaign boundary</dd>" in card_html(share).replace("\u00a0", " ")
    step = Figure(name="step_mean_s", label="Step", value=54.2, unit="s", n=280, boundary="campaign")
    assert "boundary</dd>" not in card_html(step)


@pytest.mark.parametrize(("width", "lines"), [(900, 1), (358, 2)])
def test_words_over_a_chart_break_by_its_width_and_the_chart_follows(
    browser: Any, width: int, lines: int
) -> None:
    """Plotly's own title, three lines broken for a phone, is cut off; a name is text, whatever it holds."""
    fig = theme.apply(
        go.Figure(go.Bar(x=[1], y=[1])), title=f"Spend of {theme.short('<b>x</b>')}", alt="a bar", table="t",
        subtitle="hatched: inside steps but in no phase, or paid outside steps", x="x", y="y",
    )  # fmt: skip
    own, css = fig.layout.margin.t, CSS.read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.set_content(
        f"<style>{css}</style><div class='st-key-chart_a' style='width: {width - 46}px'>"
        f"<div class='stElementContainer'>{heading_html(fig, 'chart_a')}</div>"
        "<div class='stElementContainer'><div data-testid='stFullScreenFrame'><div class='stPlotlyChart'>"
        f"<div class='js-plotly-plot' style='height: 300px'><i style='display: block; height: {own}px'></i>"
        "<b>plot</b></div></div></div></div></div>"
    )
    assert page.locator(".ipd-heading strong").inner_text() == "Spend of <b>x</b>"
    small = page.locator(".ipd-heading small").bounding_box()
    assert round(small["height"] / 16) == lines
    gap = page.locator(".js-plotly-plot > b").bounding_box()["y"] - small["y"] - small["height"]
    assert theme.PANEL_NAME_PX <= gap < theme.PANEL_NAME_PX + 10
    cut = page.evaluate("getComputedStyle(document.querySelector('.js-plotly-plot')).clipPath")
    assert cut.startswith(f"inset({theme.heading_px(fig)}px")
    full = "[data-testid=stFullScreenFrame] { position: fixed; inset: 0; padding: 12px }"
    page.add_style_tag(content=full)
    assert page.evaluate("getComputedStyle(document.querySelector('.js-plotly-plot')).clipPath") == "none"
    page.close()
