"""Colours and marks that mean the same on every page and in every report.

Colours are chosen to stay apart for the common kinds of colour blindness (Okabe and Ito 2008, Tol 2021)
and come in a light and a dark variant. Solid marks are measured, hatched marks are projected or not
attributed, dotted marks are assumed.
"""

import hashlib
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["light", "dark"]


@dataclass(frozen=True)
class Palette:
    """Every colour of one mode, as CSS hex."""

    text: str
    quiet: str
    grid: str
    axis: str
    accent: str
    good: str
    bad: str
    surface: str
    grey: str
    runs: tuple[str, ...]
    phases: Mapping[str, str]
    roles: Mapping[str, str]
    scale: tuple[str, ...]


_PHASES_LIGHT = {
    "rollout": "#0072B2",
    "env": "#D55E00",
    "reward": "#E69F00",
    "logprob": "#56B4E9",
    "ref": "#88CCEE",
    "value": "#B497D6",
    "advantage": "#7F63B8",
    "train": "#009E73",
    "weight_sync": "#CC79A7",
    "checkpoint": "#882255",
    "eval": "#999933",
    "data": "#7D6B58",
    "sandbox": "#A0522D",
    "booked": "#475569",
    "waiting": "#D8C400",
    "other": "#6B7280",
    "outside_steps": "#4B5563",
    "unattributed": "#9CA3AF",
}
_PHASES_DARK = {
    "rollout": "#4EA3DC",
    "env": "#F0813A",
    "reward": "#F2B84B",
    "logprob": "#8CCBF2",
    "ref": "#B5DDF5",
    "value": "#CBB5E8",
    "advantage": "#A88FDD",
    "train": "#35C79A",
    "weight_sync": "#E39AC2",
    "checkpoint": "#C96A97",
    "eval": "#C4C45A",
    "data": "#B5A28D",
    "sandbox": "#C98A63",
    "booked": "#94A3B8",
    "waiting": "#F0E442",
    "other": "#9AA2AF",
    "outside_steps": "#7C8594",
    "unattributed": "#A7AEBA",
}
LIGHT = Palette(
    text="#1F2937",
    quiet="#5B6472",
    grid="#E5E7EB",
    axis="#9CA3AF",
    accent="#2F5FD0",
    good="#00795A",
    bad="#B3410C",
    surface="#FFFFFF",
    grey="#C3C8D0",
    runs=(
        "#0072B2",
        "#D55E00",
        "#009E73",
        "#C2489B",
        "#3030E8",
        "#730D4A",
        "#8E75F0",
        "#7D5236",
        "#084508",
        "#0D3673",
    ),
    phases=_PHASES_LIGHT,
    roles={
        "train": "#009E73",
        "rollout": "#0072B2",
        "colocated": "#7F63B8",
        "judge": "#CC79A7",
        "sandbox": "#D55E00",
    },
    scale=("#F3F6FB", "#C6DBEF", "#6BAED6", "#2171B5", "#08306B"),
)
DARK = Palette(
    text="#E5E7EB",
    quiet="#A3ABB8",
    grid="#2D3540",
    axis="#6B7280",
    accent="#7FA6FF",
    good="#45D0A5",
    bad="#F59A6B",
    surface="#0F1419",
    grey="#4A5361",
    runs=(
        "#56B4E9",
        "#F0813A",
        "#35C79A",
        "#E39AC2",
        "#8E39C6",
        "#D9D9A6",
        "#9BE15D",
        "#9E712E",
        "#0F8A71",
        "#D65DD1",
    ),
    phases=_PHASES_DARK,
    roles={
        "train": "#35C79A",
        "rollout": "#4EA3DC",
        "colocated": "#A88FDD",
        "judge": "#E39AC2",
        "sandbox": "#F0813A",
    },
    scale=("#16202B", "#1F4E79", "#2B7BBA", "#6BAED6", "#DCEBF8"),
)
PHASE_ORDER = tuple(_PHASES_LIGHT)
PHASE_LABELS = {
    "rollout": "Rollout",
    "env": "Environment",
    "reward": "Reward",
    "logprob": "Log-probs",
    "ref": "Reference",
    "value": "Value",
    "advantage": "Advantage",
    "train": "Train",
    "weight_sync": "Weight sync",
    "checkpoint": "Checkpoint",
    "eval": "Eval",
    "data": "Data",
    "sandbox": "Sandboxes",
    "booked": "Evals, data, staff",
    "waiting": "Waiting",
    "other": "Other",
    "outside_steps": "Outside steps",
    "unattributed": "Unattributed",
}
HATCHED_PHASES = frozenset({"unattributed", "outside_steps"})
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOL_SIGNS = dict(zip(_SYMBOLS, "●■◆▲✚✖★⬢", strict=True))
"""Markers as characters, for lists beside the figures."""
_SALT = "run-colour-1054:"


def palette(mode: Mode) -> Palette:
    """Return the colours of a mode; KeyError-free: anything but 'dark' is light."""
    return DARK if mode == "dark" else LIGHT


def run_colours(all_runs: Iterable[str], mode: Mode = "light") -> dict[str, str]:
    """Return {run: colour} for the runs of a home, named in the order in which they came.

    Each takes the colour that its name asks for, or the next one free, so that colours repeat only when there
    are more runs than colours and a run that comes later changes none that was there.
    """
    colours = palette(mode).runs
    held = [0] * len(colours)
    out: dict[str, str] = {}
    for run in dict.fromkeys(all_runs):
        first = _slot(run, len(colours))
        free = min(held)
        slot = next(
            s % len(colours) for s in range(first, 2 * len(colours)) if held[s % len(colours)] == free
        )
        held[slot] += 1
        out[run] = colours[slot]
    return out


def run_styles(
    runs: Iterable[str], mode: Mode = "light", colours: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return {run: {colour, symbol, width, dash}} for one figure; `colours` holds those of the home's runs.

    Where two runs of the home share a colour, the one that came later has another marker and dash everywhere.
    """
    given = colours or {}
    names = sorted(set(runs))
    known = given if set(names) <= set(given) else run_colours([*given, *names], mode)
    used: dict[str, int] = {}
    out: dict[str, dict[str, Any]] = {}
    for run, colour in known.items():
        twin = used.get(colour, 0)
        used[colour] = twin + 1
        symbol, dash = _SYMBOLS[twin % len(_SYMBOLS)], _DASHES[twin % len(_DASHES)]
        out[run] = {"colour": colour, "symbol": symbol, "width": 2.2 if twin == 0 else 1.4, "dash": dash}
    return {run: out[run] for run in names}


def phase_colour(phase: str, mode: Mode = "light") -> str:
    """Return the colour of a step phase; an unknown phase is drawn like `other`."""
    phases = palette(mode).phases
    return phases.get(phase, phases["other"])


def phase_label(phase: str) -> str:
    """Return the name of a phase as people say it, escaped for Plotly."""
    return PHASE_LABELS.get(phase, html.escape(phase.replace("_", " ").capitalize(), quote=False))


def ordered_phases(phases: Iterable[str]) -> list[str]:
    """Return the phases in the order of a step, unknown ones before `outside_steps` and `unattributed`."""
    found = set(phases)
    known = [p for p in PHASE_ORDER if p in found and p not in HATCHED_PHASES]
    strange = sorted(found - set(PHASE_ORDER))
    return known + strange + [p for p in ("outside_steps", "unattributed") if p in found]


def phase_marker(phase: str, mode: Mode = "light") -> dict[str, Any]:
    """Return the marker of a phase bar: solid, or hatched for time nobody has attributed."""
    colours = palette(mode)
    colour = phase_colour(phase, mode)
    if phase not in HATCHED_PHASES:
        return {"color": colour, "line": {"width": 0}}
    shape = "/" if phase == "unattributed" else "x"
    return {
        "color": colours.surface,
        "line": {"width": 1, "color": colour},
        "pattern": {
            "shape": shape,
            "fgcolor": colour,
            "bgcolor": colours.surface,
            "size": 6,
            "solidity": 0.35,
        },
    }


def status_marker(colour: str, status: str, mode: Mode = "light") -> dict[str, Any]:
    """Return a bar marker by how the number came about: measured solid, projected hatched, assumed dotted."""
    colours = palette(mode)
    if status == "measured":
        return {"color": colour, "line": {"width": 0}}
    shape = "." if status == "assumed" else "/"
    return {
        "color": colours.surface,
        "line": {"width": 1.2, "color": colour},
        "pattern": {
            "shape": shape,
            "fgcolor": colour,
            "bgcolor": colours.surface,
            "size": 7,
            "solidity": 0.4,
        },
    }


def status_dash(status: str) -> str:
    """Return the line dash of a status: measured solid, projected dashed, assumed dotted."""
    return {"measured": "solid", "assumed": "dot"}.get(status, "dash")


def fade(colour: str, alpha: float) -> str:
    """Return a CSS rgba of a hex colour; `alpha` is 0..1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def _slot(name: str, slots: int) -> int:
    digest = hashlib.sha256((_SALT + name).encode()).digest()
    return int.from_bytes(digest[:4], "big") % slots
