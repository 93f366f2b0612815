"""Rows of a person's own SELECT made ready to draw: series, panels, and no more points than an eye uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
from pandas.api import types

from charts.columns import column_label

MOST_POINTS, MOST_SERIES, MOST_PANELS = 4_000, 8, 6
MOST_BARS, MOST_SCALED_BARS, MOST_BOXES, MOST_TILES = 40, 500, 40, 60
REST = "…rest"
"""Series of all that have no colour of their own; other names are never this one."""
NUMBERS_ONLY = frozenset({"line", "area", "bar", "scatter", "box"})


@dataclass(frozen=True)
class Wanted:
    """What a person picked: columns and words of one chart."""

    chart: str
    x: str = ""
    y: tuple[str, ...] = ()
    colour: str = ""
    facet: str = ""
    title: str = ""
    unit: str = ""
    source: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The picked columns, each once."""
        return tuple(name for name in dict.fromkeys((self.x, *self.y, self.colour, self.facet)) if name)


@dataclass
class Ready:
    """Rows in long form (columns `x`, `y`, `series`, `panel`) and what was done to them, in words.

    `colours`: those that series have everywhere; others take the next of the palette. `named`: a column was
    picked for the colour, so a single series is named too.
    """

    frame: pd.DataFrame
    series: list[str]
    panels: list[str]
    notes: list[str] = field(default_factory=list)
    colours: Mapping[str, str] = field(default_factory=dict)
    named: bool = False


def fault(rows: pd.DataFrame, wanted: Wanted) -> str:
    """Return why these rows cannot be drawn so, and what to pick; '' when they can."""
    missing = [name for name in wanted.named if name not in rows.columns]
    if missing:
        has = ", ".join(map(str, rows.columns)) or "no column"
        return f"The rows have no column '{missing[0]}'. Pick one of: {has}."
    twice = [name for name in wanted.named if list(rows.columns).count(name) > 1]
    if twice:
        return f"Two columns are named '{twice[0]}'. Give them different names in the SELECT."
    lacks = _lacks(wanted)
    if lacks:
        return lacks
    if rows.empty:
        name = f"'{wanted.source}'" if wanted.source else "The SELECT"
        return f"{name} has no rows. Widen its conditions."
    return _wrong_type(rows, wanted)


def ready(rows: pd.DataFrame, wanted: Wanted) -> Ready:
    """Return rows that `fault` lets pass in long form: at most MOST_SERIES series and MOST_PANELS panels."""
    ys = wanted.y if wanted.chart != "histogram" else (wanted.x,)
    xs = wanted.x if wanted.chart != "histogram" else ""
    parts = [_part(rows, xs, y, wanted, many=len(ys) > 1) for y in ys]
    frame = pd.concat(parts, ignore_index=True)
    out = Ready(frame, [], [], named=bool(wanted.colour))
    empty = frame["y"].isna()
    if xs and wanted.chart != "box":
        empty |= frame["x"].isna()
    if empty.any():
        out.frame = frame[~empty]
        out.notes.append(f"{int(empty.sum()):,} without a value are left out")
    _choose_panels(out)
    _choose_series(out, wanted.chart)
    return out


def numbers(values: pd.Series) -> bool:
    """Whether a column holds numbers; true and false are none."""
    if types.is_object_dtype(values):
        known = values.dropna()
        return bool(len(known)) and all(map(_is_number, known))
    return bool(types.is_numeric_dtype(values) and not types.is_bool_dtype(values))


def times(values: pd.Series) -> bool:
    """Whether a column holds dates or times."""
    if types.is_datetime64_any_dtype(values):
        return True
    return bool(
        types.is_object_dtype(values)
        and pd.api.types.infer_dtype(values, skipna=True) in ("date", "datetime")
    )


def thin_line(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return at most `most` rows of a line in its order: of each stretch the least and the greatest y."""
    if len(part) <= most:
        return part
    stretches = max(1, (most - 2) // 2)
    edges = np.linspace(0, len(part), stretches + 1).astype(int)
    y = part["y"].to_numpy(dtype=float)
    keep = {0, len(part) - 1}
    for start, end in pairwise(edges):
        piece = y[start:end]
        keep |= {int(start + piece.argmin()), int(start + piece.argmax())}
    return part.iloc[sorted(keep)]


def thin_points(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return at most `most` rows evenly over their order, the outermost in x and in y among them."""
    if len(part) <= most:
        return part
    keep = set(np.linspace(0, len(part) - 1, max(1, most - 4)).astype(int).tolist())
    for name in ("x", "y"):
        values = part[name]
        if numbers(values) or times(values):
            ranks = values.rank(method="first").to_numpy()
            keep |= {int(ranks.argmin()), int(ranks.argmax())}
    return part.iloc[sorted(keep)]


def largest_bars(frame: pd.DataFrame, most: int) -> tuple[pd.DataFrame, str]:
    """Return one row a bar (sum of its rows) of the `most` largest places, the others as one; and words."""
    keys = ["panel", "series", "x"]
    notes = []
    sums = frame.groupby(keys, sort=False, observed=True)["y"].agg(["sum", "size"]).reset_index()
    if (sums["size"] > 1).any():
        notes.append("a bar is the sum of its rows")
    sums = sums.rename(columns={"sum": "y"}).drop(columns="size")
    places = sums["y"].abs().groupby(sums["x"], sort=False, observed=True).sum()
    if len(places) > most:
        big = set(places.sort_values(ascending=False, kind="stable").index[: most - 1])
        rest = len(places) - len(big)
        sums["x"] = [str(x) if x in big else f"other ({rest:,})" for x in sums["x"]]
        sums = sums.groupby(keys, sort=False, observed=True)["y"].sum().reset_index()
        last = sums["x"].eq(f"other ({rest:,})")
        sums = pd.concat([sums[~last], sums[last]], ignore_index=True)
        notes.append(f"the {most - 1} largest of {len(places):,}; 'other' is the sum of the rest")
    return sums, "; ".join(notes)


def _part(rows: pd.DataFrame, x: str, y: str, wanted: Wanted, *, many: bool) -> pd.DataFrame:
    y_values = rows[y]
    if wanted.chart in NUMBERS_ONLY or wanted.chart == "histogram":
        y_values = y_values.astype(float).replace([np.inf, -np.inf], np.nan)
    out = pd.DataFrame({"y": y_values.to_numpy()})
    out["x"] = rows[x].to_numpy() if x else ""
    words = pd.Series(label(y, percent=in_percent(wanted)) if many else "", index=rows.index)
    if wanted.colour and wanted.chart != "heat_map":
        told = rows[wanted.colour].map(_told)
        words = told + " · " + words if many else told
    out["series"] = words.to_numpy()
    out["panel"] = rows[wanted.facet].map(_told).to_numpy() if wanted.facet else ""
    if wanted.chart == "heat_map":
        out["z"] = rows[wanted.colour].astype(float).to_numpy() if wanted.colour else 1.0
    return out


def label(name: str, *, percent: bool = True) -> str:
    """Return a column's name in words; one of a letter or two stays: the app's own mean other things.

    A ratio is named by how it is drawn: in per cent, or as the fraction that the rows hold.
    """
    words = column_label(name) if len(name) > 2 else name
    return f"{words.removesuffix(' (%)')} ({'%' if percent else 'fraction'})" if is_ratio(name) else words


def is_ratio(name: str) -> bool:
    """Whether a column is a ratio from 0 to 1 by its name: such are shown in per cent."""
    return name.endswith("_frac") or name in ("frac", "p_correct", "q_informative")


def in_percent(wanted: Wanted) -> bool:
    """Whether the numbers drawn along y, or counted by a histogram, are shown in per cent."""
    names = wanted.y if wanted.chart != "histogram" else (wanted.x,)
    return bool(names) and not wanted.unit and all(map(is_ratio, names))


def _told(value: object) -> str:
    missing = value is None or value is pd.NaT or value is pd.NA or value != value
    return "not told" if missing else str(value)


def _choose_panels(out: Ready) -> None:
    sizes = out.frame["panel"].value_counts(sort=False)
    names = list(sizes.index)
    if len(names) > MOST_PANELS:
        names = list(sizes.sort_values(ascending=False, kind="stable").index[:MOST_PANELS])
        out.notes.append(f"{MOST_PANELS} of {len(sizes):,} panels: those with most rows")
        out.frame = out.frame[out.frame["panel"].isin(names)]
    out.panels = sorted(names)


def _choose_series(out: Ready, chart: str) -> None:
    frame = out.frame
    weight = frame["y"].abs() if chart in ("bar", "area") else pd.Series(1.0, index=frame.index)
    sums = weight.groupby(frame["series"], sort=False).sum().sort_values(ascending=False, kind="stable")
    names = list(sums.index)
    if len(names) > MOST_SERIES:
        kept, rest = names[: MOST_SERIES - 1], len(names) - MOST_SERIES + 1
        out.frame = frame.assign(
            series=frame["series"].where(frame["series"].isin(kept), REST), member=frame["series"]
        )
        out.notes.append(f"{MOST_SERIES - 1} of {len(names):,} have a colour, {rest:,} are grey")
        names = [*kept, REST]
    order = [name for name in names if name != REST]
    out.series = sorted(order) + [REST] * (REST in names)


def _lacks(wanted: Wanted) -> str:
    if not wanted.x and wanted.chart != "box":
        return "Pick a column for x."
    if wanted.chart != "histogram" and not wanted.y:
        return "Pick a column for y."
    if wanted.chart == "heat_map" and len(wanted.y) > 1:
        return "A heat map has one column for y. Take the others out."
    return ""


def _wrong_type(rows: pd.DataFrame, wanted: Wanted) -> str:
    needed = wanted.y if wanted.chart in NUMBERS_ONLY else ()
    if wanted.chart == "histogram":
        needed = (wanted.x,)
    elif wanted.chart == "heat_map" and wanted.colour:
        needed = (wanted.colour,)
    for name in wanted.named:
        known = rows[name].dropna()
        if name not in needed and len(known) and isinstance(known.iloc[0], list | dict | np.ndarray):
            return f"Column '{name}' holds lists. Take one value out of them in the SELECT."
    for name in needed:
        if rows[name].isna().all():
            return f"Column '{name}' is empty in every row. Pick another one."
        if not numbers(rows[name]):
            return f"Column '{name}' holds no numbers. Pick a column of numbers, or convert it in the SELECT."
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
