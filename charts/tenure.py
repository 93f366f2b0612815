"""Rent, reserve or own: options with ranges, crossing lines, demand and its base, what matters most."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.tenure_cases import OPTIONS
from analysis.words import digits3, money, percent
from charts import theme
from charts.blocks import error_bars, has
from charts.duration import duration_curve
from charts.synthetic import marked
from charts.theme import Mode

DASHES = {
    "on_demand": "solid",
    "reserved_1y": "dash",
    "reserved_3y": "dot",
    "own": "solid",
    "lease": "dashdot",
}

RANGE_STATUS = {"published range": "measured", "your range": "assumed"}


def option_colours(mode: Mode) -> Mapping[str, str]:
    """Return a fixed colour for each option."""
    return dict(zip(OPTIONS, theme.palette(mode).runs, strict=False))


def options(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the cost of a useful GPU-hour of each option with its p10-p90."""
    title = "Cost of a useful GPU-hour by option"
    frame = result.tables.get("options")
    if not has(frame, "label", "usd_per_useful_gpu_h"):
        return theme.empty(result.answer, title=title, table="options", mode=mode)
    known = frame.dropna(subset=["usd_per_useful_gpu_h"])
    colours, text = option_colours(mode), theme.palette(mode).text
    labels = list(known["label"])
    fig = go.Figure(
        go.Bar(
            x=known["usd_per_useful_gpu_h"],
            y=labels,
            orientation="h",
            marker={"color": [colours[o] for o in known["option"]]},
            error_x=error_bars(known["usd_per_useful_gpu_h"], known["low_usd"], known["high_usd"], text),
            customdata=[_option_words(row) for row in known.to_dict("records")],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    rest = len(frame) - len(known)
    tail = f"; {rest} without a price, see the table" if rest else ""
    theme.apply(
        fig,
        title=title,
        subtitle=f"Same demand for all; whiskers: p10-p90 over inputs and quotes{tail}",
        alt=f"Bars of {len(labels)} options with intervals: {', '.join(labels)}.",
        table="options",
        mode=mode,
        x="USD a useful GPU-hour",
        height=100 + 38 * len(labels),
    )
    fig.update_layout(showlegend=False)
    fig.update_xaxes(tickprefix="$", rangemode="tozero")
    fig.update_yaxes(categoryorder="array", categoryarray=labels, autorange="reversed")
    return fig


def _option_words(row: Mapping[str, float | str]) -> str:
    ends = f"{money(float(row['low_usd']))} to {money(float(row['high_usd']))}"
    lines = [
        f"<b>{theme.escape(row['label'])}</b>: {money(float(row['usd_per_useful_gpu_h']))} ({ends})",
        f"cheapest in {percent(float(row['cheapest_frac']))} of the draws",
        f"{money(float(row['total_usd']))} present value",
    ]
    if float(row["fleet_gpus"]) > 0:
        lines.append(
            f"{digits3(float(row['fleet_gpus']))} GPUs held, {percent(float(row['busy_frac']))} busy"
        )
    return "<br>".join(lines)


def crossing(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw cost against use: a line an option, the break-even against on demand marked."""
    title = "Cost of a useful GPU-hour by use of the fleet"
    frame = result.tables.get("by_use")
    if not has(frame, "utilisation_frac", "usd_per_useful_gpu_h"):
        return theme.empty(result.answer, title=title, table="by_use", mode=mode)
    fig = go.Figure(
        [_use_line(frame, option, mode) for option in OPTIONS if (frame["option"] == option).any()]
    )
    even = result.tables["break_even"]
    flip = even[even["against"] == "on_demand"]["break_even_path_frac"]
    told = ""
    if len(flip) and flip.iloc[0] <= 1:
        told = f"; owning beats on demand above {percent(float(flip.iloc[0]))}"
        line = {"color": theme.palette(mode).axis, "width": 1.5, "dash": "dot"}
        fig.add_vline(x=100 * float(flip.iloc[0]), line=line)
    theme.apply(
        fig,
        title=title,
        subtitle=f"Held GPUs are paid while they idle{told}",
        alt=f"Lines of cost against the share of hours used for {frame['option'].nunique()} options{told}.",
        table="by_use",
        mode=mode,
        x="share of the held hours that is used (%)",
        y="USD a useful GPU-hour",
    )
    top = 4 * float(frame[frame["utilisation_frac"] == 1.0]["usd_per_useful_gpu_h"].max())
    fig.update_yaxes(tickprefix="$", range=[0, top])
    return fig


def _use_line(frame: pd.DataFrame, option: str, mode: Mode) -> go.Scatter:
    part, label = frame[frame["option"] == option], OPTIONS[option]
    dash = DASHES.get(option, "solid")
    return go.Scatter(
        x=100 * part["utilisation_frac"],
        y=part["usd_per_useful_gpu_h"],
        name=label,
        mode="lines",
        line={"color": option_colours(mode)[option], "width": 2.5, "dash": dash},
        hovertemplate=f"{label}<br>%{{x:.0f}} % used: %{{y:$,.3r}}<extra></extra>",
    )


@marked
def duration(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the demand as a duration curve with the bases worth committing to."""
    title = "Demand: GPUs needed by share of the time"
    frame = result.tables.get("demand")
    if not has(frame, "time_frac", "gpus"):
        return theme.empty(result.answer, title=title, table="demand", mode=mode)
    names = {"own": "all owned", "mixed_reserved": "reserved base", "mixed_own": "owned base"}
    colours = option_colours(mode)
    bases = [
        (label, float(value), colours[name])
        for name, label in names.items()
        for value in frame[name].dropna().head(1)
    ]
    return duration_curve(
        frame,
        bases,
        title=title,
        subtitle="Above a base the rest is rented on demand; the base is busy below the curve",
        levels_are="the committed levels",
        mode=mode,
    )


def npv(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw what each option saves against on demand, from the lowest to the highest price path."""
    title = "Present value saved against on demand"
    frame = result.tables.get("npv")
    if not has(frame, "label", "saves_usd"):
        why = "Without an on-demand rent nothing can be saved against it. Give a quote."
        lacking = result.tables["options"].empty if "options" in result.tables else True
        return theme.empty(result.answer if lacking else why, title=title, table="npv", mode=mode)
    data = frame[frame["option"] != "on_demand"].dropna(subset=["saves_usd"])
    ends = data.groupby(["option", "label"], sort=False)["saves_usd"].agg(["min", "max"]).reset_index()
    middle = data[data["path"] == "mid"].set_index("option")["saves_usd"]
    value = pd.Series([middle[o] for o in ends["option"]])
    paths = ", ".join(f"{100 * d:g}\u00a0%" for d in dict.fromkeys(frame["decline_frac"]))
    fig = go.Figure(_savings(value, ends, mode))
    theme.apply(
        fig,
        title=title,
        subtitle=f"Right of 0: cheaper than on demand. Prices fall by {paths} a year",
        alt=f"Dots of the present value saved by {len(ends)} options with their range over the price paths.",
        table="npv",
        mode=mode,
        x="USD over the horizon",
        height=110 + 36 * len(ends),
    )
    fig.update_layout(showlegend=False)
    fig.update_xaxes(tickprefix="$")
    fig.add_vline(x=0, line={"color": theme.palette(mode).axis, "width": 1.5, "dash": "dot"})
    fig.update_yaxes(categoryorder="array", categoryarray=list(ends["label"]), autorange="reversed")
    return fig


def _savings(value: pd.Series, ends: pd.DataFrame, mode: Mode) -> go.Scatter:
    colours = option_colours(mode)
    return go.Scatter(
        x=value,
        y=ends["label"],
        mode="markers",
        marker={"color": [colours[o] for o in ends["option"]], "size": 13, "symbol": "diamond"},
        error_x=error_bars(value, ends["min"], ends["max"], theme.palette(mode).text),
        customdata=[[money(a), money(b)] for a, b in zip(ends["min"], ends["max"], strict=True)],
        hovertemplate="%{y}: %{x:$,.3s} (%{customdata[0]} to %{customdata[1]})<extra></extra>",
    )


def tornado(result: Result, mode: Mode = "light", most: int = 12) -> go.Figure:
    """Draw how far each input alone moves what owning saves; published ranges solid, the user's hatched."""
    title = "What moves the answer"
    frame = result.tables.get("tornado")
    if not has(frame, "label", "at_low_usd", "at_high_usd"):
        why = "There is no rent to compare owning with, or no input has a range."
        return theme.empty(why, title=title, table="tornado", mode=mode)
    data = frame.head(most)
    bases = [basis for basis in RANGE_STATUS if (data["basis"] == basis).any()]
    fig = go.Figure([_swing(data[data["basis"] == basis], basis, mode) for basis in bases])
    labels = [_input_name(row) for row in data.to_dict("records")]
    theme.apply(
        fig,
        title=title,
        subtitle="What owning saves on a useful GPU-hour against the best rent, one input at a time",
        alt=f"Tornado of {len(data)} inputs; {data.iloc[0]['label']} moves the answer most.",
        table="tornado",
        mode=mode,
        x="USD saved a useful GPU-hour (right of 0: own)",
        height=110 + 40 * len(data),
    )
    fig.update_xaxes(tickprefix="$")
    fig.add_vline(x=0, line={"color": theme.palette(mode).axis, "width": 1.5, "dash": "dot"})
    fig.update_yaxes(categoryorder="array", categoryarray=labels, autorange="reversed")
    return fig


def _swing(part: pd.DataFrame, basis: str, mode: Mode) -> go.Bar:
    """Bars from the answer at the low end of an input to that at its high end."""
    ends = zip(part["at_low_usd"], part["at_high_usd"], strict=True)
    return go.Bar(
        x=part["at_high_usd"] - part["at_low_usd"],
        base=part["at_low_usd"],
        y=[_input_name(row) for row in part.to_dict("records")],
        orientation="h",
        name=basis,
        marker=theme.status_marker(theme.palette(mode).accent, RANGE_STATUS[basis], mode),
        customdata=[[money(low), money(high)] for low, high in ends],
        hovertemplate="%{y}<br>low: %{customdata[0]}, high: %{customdata[1]}<extra></extra>",
    )


def _input_name(row: Mapping[str, object]) -> str:
    low, high = float(str(row["low"])), float(str(row["high"]))
    unit = str(row["unit"])
    if unit.startswith("fraction"):
        ends = f"{percent(low)} – {percent(high)}"
    elif unit.startswith("USD"):
        ends = f"{money(low)} – {money(high)}"
    else:
        ends = f"{digits3(low)} – {digits3(high)} {'years' if unit == 'year' else ''}".strip()
    return f'{theme.short(row["label"], 30)}<br><span style="font-size:10px">{ends}</span>'
