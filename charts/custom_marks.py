"""Marks of a chart of a person's own SELECT: one function a type, from rows made ready to traces."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from charts import custom_rows, theme
from charts.custom_rows import MOST_BOXES, MOST_POINTS, MOST_TILES, REST, Ready
from charts.theme import Mode

MOST_BINS = 60
Placed = tuple[Any, str]
"""A trace and the panel it belongs to."""


class Marks:
    """The traces of one chart; `drawn` counts the rows that are seen, as a mark or within one."""

    def __init__(self, ready: Ready, chart: str, mode: Mode) -> None:
        """Make the traces of `chart`."""
        self._ready, self._mode = ready, mode
        self.drawn = 0
        self.y_words, self.named_x = "", False
        make: dict[str, Callable[[], Iterator[Placed]]] = {
            "line": self._lines,
            "area": self._areas,
            "bar": self._bars,
            "scatter": self._dots,
            "histogram": self._histogram,
            "box": self._boxes,
            "heat_map": self._tiles,
        }
        self.traces = list(make[chart]())

    def _each(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Panel, series and rows of each, in order; those of no colour first, so that they lie below."""
        for panel in self._ready.panels:
            in_panel = self._ready.frame[self._ready.frame["panel"] == panel]
            for name in sorted(self._ready.series, key=lambda one: one != REST):
                rows = in_panel[in_panel["series"] == name]
                if len(rows):
                    yield panel, name, rows

    def _look(self, name: str, panel: str) -> dict[str, Any]:
        many = len(self._ready.series) > 1 or self._ready.named
        return {
            "name": "others" if name == REST else theme.short(name or "all"),
            "legendgroup": name,
            "showlegend": many and panel == self._first_panel(name),
        }

    def _first_panel(self, name: str) -> str:
        frame = self._ready.frame
        seen = set(frame.loc[frame["series"] == name, "panel"])
        return next(panel for panel in self._ready.panels if panel in seen)

    def _colour(self, name: str) -> str:
        colours = theme.palette(self._mode)
        if name == REST:
            return colours.grey
        if name in self._ready.colours:
            return self._ready.colours[name]
        return colours.runs[self._ready.series.index(name) % len(colours.runs)]

    def _room(self, rows: int) -> int:
        """Points that so many of all rows may have; what is over MOST_POINTS is shared out by rows."""
        return max(4, MOST_POINTS * rows // max(1, len(self._ready.frame)))

    def _lines(self, fill: bool = False) -> Iterator[Placed]:
        for panel, name, rows in self._each():
            members = [rows]
            if name == REST and "member" in rows:
                members = [part for _, part in rows.groupby("member", sort=True)]
            parts = [
                custom_rows.thin_line(p.sort_values("x", kind="stable"), self._room(len(p))) for p in members
            ]
            self.drawn += sum(map(len, parts))
            x, y = _joined(parts)
            look = self._look(name, panel)
            line = {"color": self._colour(name), "width": 2 if name != REST else 1}
            more: dict[str, Any] = {"mode": "lines+markers" if len(x) < 40 else "lines", "line": line}
            more["marker"] = {"size": 5}
            if fill:
                more |= {"fill": "tozeroy", "fillcolor": theme.fade(self._colour(name), 0.25)}
            yield go.Scatter(x=x, y=y, connectgaps=False, **more, **look), panel
        self._say_thinned("of each stretch the least and the greatest are kept")

    def _areas(self) -> Iterator[Placed]:
        return self._lines(fill=True)

    def _dots(self) -> Iterator[Placed]:
        for panel, name, rows in self._each():
            part = custom_rows.thin_points(rows, self._room(len(rows)))
            self.drawn += len(part)
            marker = {"color": self._colour(name), "size": 7, "opacity": 0.75}
            yield (
                go.Scatter(
                    x=_plain(part["x"]),
                    y=part["y"].to_numpy(),
                    mode="markers",
                    marker=marker,
                    **self._look(name, panel),
                ),
                panel,
            )
        self._say_thinned("evenly over their order, with the outermost")

    def _say_thinned(self, how: str) -> None:
        total = len(self._ready.frame)
        if self.drawn < total:
            self._ready.notes.insert(0, f"{self.drawn:,} of {total:,} points drawn, {how}")

    def _bars(self) -> Iterator[Placed]:
        self.drawn = len(self._ready.frame)
        frame = self._ready.frame
        scaled = custom_rows.numbers(frame["x"]) or custom_rows.times(frame["x"])
        most = custom_rows.MOST_SCALED_BARS if scaled else custom_rows.MOST_BARS
        self.named_x = not scaled or frame["x"].nunique() > most
        bars, words = custom_rows.largest_bars(frame, most)
        self._ready.notes.extend([words] * bool(words))
        whole, self._ready.frame = self._ready.frame, bars
        for panel, name, rows in self._each():
            marker = {"color": self._colour(name)}
            yield (
                go.Bar(x=_plain(rows["x"]), y=rows["y"].to_numpy(), marker=marker, **self._look(name, panel)),
                panel,
            )
        self._ready.frame = whole

    def _histogram(self) -> Iterator[Placed]:
        values = self._ready.frame["y"].to_numpy(dtype=float)
        self.drawn, self.y_words = len(values), "Rows (count)"
        edges = np.histogram_bin_edges(values, bins=_bins(values))
        middle, width = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
        for panel, name, rows in self._each():
            counts, _ = np.histogram(rows["y"].to_numpy(dtype=float), bins=edges)
            marker = {"color": self._colour(name), "line": {"width": 0}}
            yield (
                go.Bar(
                    x=middle, y=counts, width=width, marker=marker, opacity=0.75, **self._look(name, panel)
                ),
                panel,
            )

    def _boxes(self) -> Iterator[Placed]:
        self._keep_largest("x", MOST_BOXES)
        self.drawn = len(self._ready.frame)
        for panel, name, rows in self._each():
            parts = [
                (theme.short(x), part["y"].to_numpy(dtype=float)) for x, part in rows.groupby("x", sort=True)
            ]
            ends = np.array([np.quantile(y, (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)) for _, y in parts]).T
            yield (
                go.Box(
                    x=[x for x, _ in parts] if any(x for x, _ in parts) else None,
                    lowerfence=ends[1],
                    q1=ends[2],
                    median=ends[3],
                    q3=ends[4],
                    upperfence=ends[5],
                    marker={"color": self._colour(name)},
                    **self._look(name, panel),
                ),
                panel,
            )
        self._ready.notes.append("box: 25 to 75 % of the rows, line: median, whiskers: 5 and 95 %")

    def _tiles(self) -> Iterator[Placed]:
        for side in ("x", "y"):
            self._keep_largest(side, MOST_TILES)
        frame = self._ready.frame
        self.drawn = len(frame)
        counted = frame["z"].eq(1.0).all()
        cells = frame.groupby(["panel", "y", "x"], sort=True)["z"].agg(["mean", "sum", "size"])
        if not counted and (cells["size"] > 1).any():
            self._ready.notes.append("a tile is the mean of its rows")
        shown = cells["sum" if counted else "mean"]
        scale = [[i / 4, colour] for i, colour in enumerate(theme.palette(self._mode).scale)]
        low, high = float(shown.min()), float(shown.max())
        for panel in self._ready.panels:
            grid = shown.loc[panel].unstack("x")
            z = [[None if value != value else float(value) for value in row] for row in grid.to_numpy()]
            yield (
                go.Heatmap(
                    z=z,
                    x=_names(grid.columns),
                    y=_names(grid.index),
                    colorscale=scale,
                    zmin=low,
                    zmax=high,
                    showscale=panel == self._ready.panels[0],
                    hoverongaps=False,
                ),
                panel,
            )

    def _keep_largest(self, side: str, most: int) -> None:
        """Leave out the places of a side beyond the `most` with most rows, and say so."""
        sizes = self._ready.frame[side].value_counts(sort=False)
        if len(sizes) > most:
            kept = sizes.sort_values(ascending=False, kind="stable").index[:most]
            self._ready.frame = self._ready.frame[self._ready.frame[side].isin(kept)]
            self._ready.notes.append(f"{most} of {len(sizes):,} values of {side}: those with most rows")


def _bins(values: np.ndarray) -> int:
    """Bins of the width of Freedman and Diaconis (1981), 2 IQR / n^(1/3), at most MOST_BINS."""
    low, quarter, three, high = np.quantile(values, (0, 0.25, 0.75, 1))
    width = 2 * (three - quarter) / len(values) ** (1 / 3)
    wanted = (high - low) / width if width > 0 else len(values) ** 0.5
    return int(min(MOST_BINS, max(1, np.ceil(wanted))))


def _joined(parts: list[pd.DataFrame]) -> tuple[list[Any], list[float | None]]:
    """Points of several lines as one trace, with a gap between them."""
    x, y = list[Any](), list[float | None]()
    for number, part in enumerate(parts):
        if number:
            x.append(None)
            y.append(None)
        x += _plain(part["x"])
        y += part["y"].tolist()
    return x, y


def _plain(values: pd.Series) -> list[Any]:
    """Values of an axis as Plotly takes them; texts escaped."""
    return [theme.escape(value) if isinstance(value, str) else value for value in values.tolist()]


def _names(values: pd.Index) -> list[Any]:
    return [theme.short(value) if isinstance(value, str) else value for value in values.tolist()]
