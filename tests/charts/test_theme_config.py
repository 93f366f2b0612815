"""The Streamlit theme and the charts speak with the same colours."""

import tomllib
from pathlib import Path

import pytest

from charts.palette import DARK, LIGHT, Palette

CONFIG = tomllib.loads((Path(__file__).resolve().parents[2] / ".streamlit/config.toml").read_text())


@pytest.mark.parametrize(("name", "palette"), [("light", LIGHT), ("dark", DARK)])
def test_theme_uses_the_palette(name: str, palette: Palette) -> None:
    theme = CONFIG["theme"][name]
    assert theme["primaryColor"] == palette.accent
    assert theme["backgroundColor"] == palette.surface
    assert tuple(theme["chartCategoricalColors"]) == palette.runs
    assert len(palette.runs) == 10, "with fewer, Streamlit pads the colours with undefined ones"


def test_private_and_bounded_by_default() -> None:
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["server"]["enableStaticServing"] is False
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"
