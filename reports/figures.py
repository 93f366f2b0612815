"""Figures of a result as plain JSON, drawn once for a light and once for a dark reader."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.result import Result

if TYPE_CHECKING:
    import pandas as pd

_TAGS = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class FrozenFigure:
    """One figure: `light` and `dark` are Plotly JSON ({data, layout}); `alt` says in words what it shows."""

    name: str
    title: str
    alt: str
    light: Mapping[str, Any]
    dark: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "title": self.title,
            "alt": self.alt,
            "light": dict(self.light),
            "dark": dict(self.dark),
        }


def figures_of(
    result: Result, names: Sequence[str] | None = None, under: "pd.DataFrame | None" = None
) -> list[FrozenFigure]:
    """Draw the figures of this analysis that have something to show: those of `charts.figures` that are
    named, or all that the question draws by itself, under the timeline `under` where one stands above.
    UserError for a name that there is not.
    """
    from charts.figures import chosen

    drawn = [
        (name, title, draw(result, "light"), draw(result, "dark"))
        for name, title, draw in chosen(result.analysis, names, under)
    ]
    return [freeze_figure(*figure) for figure in drawn if figure[2].data]


def freeze_figure(name: str, title: str, light: Any, dark: Any) -> FrozenFigure:
    """Return a frozen figure from two Plotly figures; ValueError without an `alt` in the light one's meta."""
    spec = _spec(light)
    alt = str((spec["layout"].get("meta") or {}).get("alt", "")).strip()
    if not alt:
        raise ValueError(f"figure {name} has no alternative text")
    return FrozenFigure(name, title or _TAGS.sub(" ", _title(spec)), alt, spec, _spec(dark))


def _spec(figure: Any) -> dict[str, Any]:
    raw = json.loads(figure.to_json())
    return {"data": raw["data"], "layout": raw["layout"]}


def _title(spec: Mapping[str, Any]) -> str:
    title = spec["layout"].get("title") or {}
    return str(title.get("text", ""))
