"""Headline figures stand where the text stands, whatever Streamlit's own rules say about lists."""

from pathlib import Path
from typing import Any

from analysis.result import Figure
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
