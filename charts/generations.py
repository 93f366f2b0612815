"""Published runs by platform family with the user's runs over them, and the ratios of like-for-like pairs."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.generations import MATCH_WORDS, MODE_WORDS
from analysis.refpairs import METRICS as PAIR_METRICS
from analysis.result import Result
from analysis.words import digits3, money
from charts import theme
from charts.blocks import colours_of, error_bars, has
from charts.theme import Mode

FAMILIES = ("Ampere", "Hopper", "Blackwell", "Blackwell Ultra", "Rubin", "CDNA 3", "CDNA 4", "TPU", "Mixed")


SHAPES = {
    "Ampere": "pentagon",
    "Hopper": "circle",
    "Blackwell": "square",
    "Blackwell Ultra": "diamond",
    "Rubin": "hexagon",
    "CDNA 3": "triangle-up",
    "CDNA 4": "triangle-down",
    "TPU": "cross",
}


@dataclass(frozen=True)
class Metric:
    """A column that both tables hold: words for the title, axis title with unit, dollars or not."""

    title: str
    axis: str
    usd: bool = False


PUBLISHED_RATE = "tokens_per_s_per_gpu"
METRICS = {
    PUBLISHED_RATE: Metric("Tokens/s a GPU", "tokens/s/GPU, log scale"),
    "step_time_s": Metric("Step time", "seconds a step, log scale"),
    "usd_per_mtok": Metric("Cost of a million tokens", "USD per million tokens, log scale", True),
    "usd_per_step": Metric("Cost of a step", "USD a step, log scale", True),
    "usd_per_rollout": Metric("Cost of a rollout", "USD a rollout, log scale", True),
}


def family_colour(family: str, mode: Mode) -> str:
    """Return the colour of a platform family: a ramp from old to new, apart from the colours of runs."""
    colours = theme.palette(mode)
    ramp, phases = colours.scale, colours.phases
    known = {
        "Hopper": ramp[2],
        "Blackwell": ramp[3],
        "Blackwell Ultra": ramp[4],
        "Rubin": phases["advantage"],
        "CDNA 3": phases["reward"],
        "CDNA 4": phases["env"],
        "TPU": phases["weight_sync"],
    }
    return known.get(family, colours.quiet)


def dots(result: Result, mode: Mode = "light", metric: str = PUBLISHED_RATE) -> go.Figure:
    """Draw one dot a published run in the row of its model and mode, and a star for each run of the user."""
    info = METRICS[metric]
    title = f"{info.title} by model and platform family"
    published = _rows(result.tables.get("reference"), metric)
    mine = _rows(result.tables.get("runs"), metric)
    if published.empty and mine.empty:
        return theme.empty(_why(result, metric), title=title, table="reference", mode=mode)
    fig = go.Figure()
    for family in [f for f in FAMILIES if f in set(published["family"])]:
        part = published[published["family"] == family]
        fig.add_trace(_published(family, part, metric, mode))
    colours = colours_of(result, mode)
    for row in mine.to_dict("records"):
        fig.add_trace(_own(row, metric, colours[row["run"]], mode))
    order = _order(pd.concat([published, mine]), metric)
    whiskers = "range of published quotes" if info.usd else "p10–p90 over your steps"
    theme.apply(
        fig,
        title=title,
        subtitle=f"Hollow: measured by a vendor. Stars: your runs. Whiskers: {whiskers}",
        alt=f"{info.axis}: {len(published)} published runs and {len(mine)} own runs in {len(order)} rows.",
        table="reference",
        mode=mode,
        x=info.axis,
        height=110 + 40 * len(order),
    )
    fig.update_xaxes(type="log", tickprefix="$" if info.usd else "", minor={"showgrid": False}, dtick=1)
    fig.update_yaxes(categoryorder="array", categoryarray=order, autorange="reversed")
    return fig


def _rows(frame: pd.DataFrame | None, metric: str) -> pd.DataFrame:
    if not has(frame, metric):
        return pd.DataFrame(columns=["family", "run", "row", metric])
    out = frame.dropna(subset=[metric])
    return out.assign(row=[_row_name(m, d) for m, d in zip(out["model"], out["mode"], strict=True)])


def _row_name(model: str, mode: str) -> str:
    words = MODE_WORDS.get(mode, "mode not stated")
    return f"{theme.short(model or 'model not named', 22)}<br>{_small(words)}"


def _small(text: str) -> str:
    return f'<span style="font-size:10px">{text}</span>'


def _order(rows: pd.DataFrame, metric: str) -> list[str]:
    by_model = rows.groupby("model")[metric].median().sort_values()
    keyed = rows.assign(rank=rows["model"].map({m: i for i, m in enumerate(by_model.index)}))
    return list(dict.fromkeys(keyed.sort_values(["rank", "mode"], kind="stable")["row"]))


def _published(family: str, part: pd.DataFrame, metric: str, mode: Mode) -> go.Scatter:
    colour = family_colour(family, mode)
    vendor = part["measured_by"].str.startswith("vendor")
    shape = SHAPES.get(family, "x")
    return go.Scatter(
        x=part[metric],
        y=part["row"],
        name=theme.escape(family),
        mode="markers",
        marker={
            "color": colour,
            "size": 11,
            "symbol": [f"{shape}-open" if v else shape for v in vendor],
            "line": {"width": [2.5 if v else 0 for v in vendor], "color": colour},
        },
        error_x=_whiskers(part, metric, colour) if METRICS[metric].usd else None,
        customdata=[_published_words(r, metric) for r in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _whiskers(part: pd.DataFrame, metric: str, colour: str) -> dict[str, Any]:
    bars = error_bars(part[metric], part[f"{metric}_low"], part[f"{metric}_high"], theme.fade(colour, 0.55))
    return {**bars, "thickness": 1.2, "width": 3}


def _own(row: dict[str, Any], metric: str, colour: str, mode: Mode) -> go.Scatter:
    one = pd.DataFrame([row])
    low, high = f"{metric}_low", f"{metric}_high"
    return go.Scatter(
        x=one[metric],
        y=one["row"],
        name=theme.short(row["run"]),
        mode="markers",
        marker={
            "color": colour,
            "size": 14,
            "symbol": "star",
            "line": {"width": 1.5, "color": theme.palette(mode).text},
        },
        error_x=error_bars(one[metric], one[low], one[high], colour),
        customdata=[_own_words(row, metric)],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _value(value: float, metric: str) -> str:
    return money(value) if METRICS[metric].usd else digits3(value)


def _published_words(row: dict[str, Any], metric: str) -> str:
    lines = [
        f"{row['model']}: {_value(row[metric], metric)}",
        f"{row['n_gpus']:.0f} x {row['platform']} · {row['precision'] or 'precision not stated'}",
        f"{row['framework']} {row['framework_version']} · {row['badge']}",
        f"{row['row_id']} · {row['source'][:70]}",
    ]
    if row["identity_off"]:
        lines.append(f"check failed: tokens {100 * (row['identity_ratio'] - 1):+.0f} % off")
    return "<br>".join(theme.escape(line) for line in lines)


def _own_words(row: dict[str, Any], metric: str) -> str:
    gpus = f"{row['n_gpus']:.0f} x " if pd.notna(row["n_gpus"]) else ""
    stack = " ".join(t for t in (row["framework"], row["framework_version"]) if t) or "framework not named"
    lines = [
        f"{row['run']}: {_value(row[metric], metric)}",
        f"{gpus}{row['platform'] or 'platform not named'}",
        f"{stack} · {'synthetic example' if row['synthetic'] else 'your run'}",
        row["throughput_basis"] if metric in ("tokens_per_s_per_gpu", "usd_per_mtok") else "",
    ]
    return "<br>".join(theme.escape(line) for line in lines if line)


def _why(result: Result, metric: str) -> str:
    missing = [n.text for n in result.warnings if n.code == "price_missing"]
    if METRICS[metric].usd and missing:
        return " ".join(missing[:2])
    return f"None of these runs publishes what {METRICS[metric].title.lower()} needs. Widen the filters."


def ratios(result: Result, mode: Mode = "light", metric: str = PUBLISHED_RATE) -> go.Figure:
    """Draw each like-for-like pair as a dot on a ratio axis, and each mean that has an interval."""
    title = f"Newer over older platform: {PAIR_METRICS[metric]}"
    table = result.tables.get("pairs")
    pairs = pd.DataFrame() if table is None else table[table["metric"] == metric]
    if pairs.empty:
        why = "No two of these published runs differ in the platform alone. Widen the filters."
        return theme.empty(why, title=title, table="pairs", mode=mode)
    colours = theme.palette(mode)
    fig = go.Figure()
    for colour, (match, words) in zip(colours.runs, MATCH_WORDS.items(), strict=False):
        part = pairs[pairs["matched"] == match]
        if len(part):
            fig.add_trace(_pair_dots(part, words, colour))
    means = result.tables["blends"]
    means = means[(means["metric"] == metric) & means["high"].notna()]
    for row in means.to_dict("records"):
        fig.add_trace(_mean(row, mode))
    rows = [
        *dict.fromkeys(pairs.apply(_pair_name, axis=1)),
        *(_mean_name(r) for r in means.to_dict("records")),
    ]
    theme.apply(
        fig,
        title=title,
        subtitle="1 = equal. A pair differs in the platform and in nothing else that is published",
        alt=f"{len(pairs)} ratios of {PAIR_METRICS[metric]} and {len(means)} means with a 95 % interval.",
        table="pairs",
        mode=mode,
        x=f"{PAIR_METRICS[metric]}, newer / older",
        height=110 + 38 * len(rows),
    )
    ends = [1.0, *pairs["ratio_b_over_a"], *means["low"], *means["high"]]
    fig.update_xaxes(range=[min(ends) - 0.08, max(ends) + 0.08])
    fig.add_vline(x=1, line={"color": colours.axis, "width": 1.5, "dash": "dot"})
    fig.update_yaxes(categoryorder="array", categoryarray=rows, autorange="reversed")
    return fig


def _pair_name(row: pd.Series) -> str:
    mode = MODE_WORDS.get(row["mode"], "mode not stated")
    return f"{theme.short(row['model'], 22)}<br>{_small(mode + ' · ' + theme.escape(row['precision']))}"


def _mean_name(row: dict[str, Any]) -> str:
    words = f"{row['models']} models · {MATCH_WORDS[row['matched']]}"
    return f"<b>mean, {row['pairs']} pairs</b><br>{_small(words)}"


def _pair_dots(part: pd.DataFrame, words: str, colour: str) -> go.Scatter:
    hover = [
        f"{theme.escape(r['platform_b'])} ({r['gpus_b']:.0f} GPUs) / {theme.escape(r['platform_a'])} "
        f"({r['gpus_a']:.0f} GPUs)<br>{digits3(r['ratio_b_over_a'])} · {theme.escape(r['model'])} · "
        f"{theme.escape(r['framework'])} {theme.escape(r['framework_version'])}<br>"
        f"{r['row_b']} / {r['row_a']}"
        for r in part.to_dict("records")
    ]
    return go.Scatter(
        x=part["ratio_b_over_a"],
        y=part.apply(_pair_name, axis=1),
        name=words,
        mode="markers",
        marker={"color": colour, "size": 10},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _mean(row: dict[str, Any], mode: Mode) -> go.Scatter:
    colour = theme.palette(mode).text
    one = pd.DataFrame([row])
    ends = f"{digits3(row['low'])} to {digits3(row['high'])}"
    words = f"{digits3(row['ratio'])} ({ends}), 95 % interval over models"
    return go.Scatter(
        x=one["ratio"],
        y=[_mean_name(row)],
        name="geometric mean, 95 % interval",
        legendgroup="mean",
        mode="markers",
        marker={"color": colour, "size": 12, "symbol": "diamond"},
        error_x=error_bars(one["ratio"], one["low"], one["high"], colour),
        customdata=[f"{theme.escape(row['platform_b'])} / {theme.escape(row['platform_a'])}<br>{words}"],
        hovertemplate="%{customdata}<extra></extra>",
    )
