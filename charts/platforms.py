"""Platforms side by side: specifications as bars scaled to the best, rents as dots over time."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.blocks import has
from charts.theme import Mode
from data.catalogue_types import KIND_WORDS

DRAWN = (
    "bf16_dense_tflops",
    "fp8_dense_tflops",
    "fp4_dense_tflops",
    "hbm_gb",
    "hbm_tb_s",
    "scaleup_gb_s_one_way",
    "scaleup_domain_gpus",
    "all_in_kw_per_gpu",
)
SYMBOLS = {
    "vendor_spec": "circle",
    "measured": "square",
    "derived": "diamond",
    "analyst": "triangle-up",
    "user": "star",
}
WORDS = {
    "vendor_spec": "vendor's list",
    "analyst": "analyst or survey",
    "derived": "derived",
    "user": "yours",
}
_BAR_PX = 21


def platform_colours(names: Sequence[str], mode: Mode) -> dict[str, str]:
    """Return a colour for each platform by its place in the comparison."""
    colours = theme.palette(mode).runs
    return {name: colours[i % len(colours)] for i, name in enumerate(names)}


def bars(result: Result, mode: Mode = "light", fields: Sequence[str] = DRAWN) -> go.Figure:
    """Draw one block of bars a specification, each scaled to the best platform; unpublished ones say so."""
    title = "Specifications, scaled to the largest"
    frame = result.tables.get("comparison")
    if not has(frame, "field", "value"):
        return theme.empty(
            "No specification is published for these platforms.", title=title, table="comparison", mode=mode
        )
    data = frame[frame["field"].isin(fields)]
    names = list(dict.fromkeys(data["platform"]))
    colours = platform_colours(names, mode)
    kept = [f for f in fields if data.loc[data["field"] == f, "value"].notna().any()]
    fig = go.Figure()
    for name in names:
        part = data[data["platform"] == name].set_index("field").loc[kept]
        fig.add_trace(_bars_of(name, part, colours[name], mode))
    fig.update_layout(barmode="group", bargap=0.32, bargroupgap=0.08)
    alt = f"Bars of {len(kept)} specifications for {', '.join(names)}, each as a share of the best of them."
    theme.apply(
        fig,
        title=title,
        subtitle="Dense rates and one-way bandwidths as published; dotted: an analyst's figure",
        alt=alt,
        table="comparison",
        mode=mode,
        height=90 + _BAR_PX * len(kept) * len(names) + 22 * len(kept),
    )
    fig.update_xaxes(
        range=[0, 1.34],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        tickformat=".0%",
        title_text="share of the largest",
        fixedrange=True,
    )
    fig.update_yaxes(autorange="reversed", fixedrange=True, ticklabelstandoff=4)
    return fig


def _bars_of(name: str, part: pd.DataFrame, colour: str, mode: Mode) -> go.Bar:
    known = part["value"].notna()
    texts = [f"{t} {u}" if k else t for t, u, k in zip(part["text"], part["unit"], known, strict=True)]
    hover = [
        _lines(f"{label}: {text}", f"{badge} · {date or 'undated'}", source[:80])
        for label, text, badge, date, source in zip(
            part["label"], texts, part["badge"], part["date"], part["source"], strict=True
        )
    ]
    markers = [
        theme.status_marker(colour, "assumed" if s == "analyst" else "measured", mode) for s in part["status"]
    ]
    on_bar = theme.palette(mode).surface
    return go.Bar(
        y=[label.replace(", ", ",<br>", 1) for label in part["label"]],
        x=part["best_frac"].fillna(0),
        name=theme.escape(name),
        orientation="h",
        text=[theme.escape(_clip(t)) for t in texts],
        textposition="outside",
        outsidetextfont={"color": theme.palette(mode).quiet, "size": 11},
        textangle=0,
        cliponaxis=False,
        marker={
            "color": [m["color"] for m in markers],
            "line": {"width": [m["line"]["width"] for m in markers], "color": colour},
            "pattern": {
                "shape": [m.get("pattern", {}).get("shape", "") for m in markers],
                "fgcolor": colour,
                "bgcolor": on_bar,
                "size": 7,
                "solidity": 0.35,
            },
        },
        customdata=hover,
        hovertemplate=f"<b>{theme.escape(name)}</b><br>%{{customdata}}<extra></extra>",
    )


def _lines(*parts: str) -> str:
    return "<br>".join(theme.escape(p) for p in parts)


def _clip(text: str, limit: int = 42) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def price_dots(result: Result, mode: Mode = "light", kind: str = "reserved_3y") -> go.Figure:
    """Draw published quotes of one kind over time; two kinds never share a chart."""
    word = KIND_WORDS.get(kind, kind)
    title = f"Quotes, {word}, USD per GPU-hour"
    frame = result.tables.get("prices")
    data = pd.DataFrame() if frame is None else frame[frame["kind"] == kind]
    dated = data.dropna(subset=["day", "value"]) if len(data) else data
    if dated.empty:
        why = f"No dated {word} quote is published for these platforms."
        return theme.empty(why, title=title, table="prices", mode=mode)
    names = list(dict.fromkeys(result.tables["comparison"]["platform"]))
    colours = platform_colours(names, mode)
    fig = go.Figure()
    for name in names:
        part = dated[dated["platform"] == name]
        if len(part):
            fig.add_trace(_dots_of(name, part, colours[name], mode))
    for status in [s for s in SYMBOLS if s in set(dated["status"])]:
        fig.add_trace(_key(status, mode))
    lost = len(data) - len(dated)
    undated = f"; {lost} undated quotes are in the table only" if lost else ""
    theme.apply(
        fig,
        title=title,
        subtitle=f"Large ringed dots are the ones the price picker uses{undated}",
        alt=f"{len(dated)} dated {word} quotes of {', '.join(sorted(set(dated['platform'])))} over time.",
        table="prices",
        mode=mode,
        x="date of the quote",
        y=f"{_unit(dated)}",
        height=400,
    )
    fig.update_yaxes(rangemode="tozero", tickprefix="$")
    return fig


def _unit(data: pd.DataFrame) -> str:
    units = set(data["unit"])
    return "USD per GPU-hour" if units == {"USD per GPU-hour"} else "USD per GPU-hour or chip-hour"


def _dots_of(name: str, part: pd.DataFrame, colour: str, mode: Mode) -> go.Scatter:
    picked = part["tier"] != ""
    hover = [
        _lines(
            f"{r.provider} · {r.tier or 'no tier'}",
            f"{money(r.value)} · {r.as_of} · {r.badge}",
            r.source[:80],
        )
        for r in part.itertuples()
    ]
    return go.Scatter(
        x=part["day"],
        y=part["value"],
        name=theme.escape(name),
        mode="markers",
        marker={
            "color": colour,
            "size": [13 if p else 8 for p in picked],
            "opacity": [1.0 if p else 0.7 for p in picked],
            "symbol": [SYMBOLS.get(s, "circle") for s in part["status"]],
            "line": {"width": [2 if p else 0 for p in picked], "color": theme.palette(mode).text},
        },
        customdata=hover,
        hovertemplate=f"<b>{theme.escape(name)}</b><br>%{{customdata}}<extra></extra>",
    )


def _key(status: str, mode: Mode) -> go.Scatter:
    marker = {"symbol": SYMBOLS[status], "color": theme.palette(mode).quiet, "size": 9}
    return go.Scatter(
        x=[None], y=[None], mode="markers", name=WORDS.get(status, status), marker=marker, hoverinfo="skip"
    )
