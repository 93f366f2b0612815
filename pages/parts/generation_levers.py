"""Levers of a projection: run, platforms, what stays equal, precision, quotes. All of them in the address."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis.generations import ORDER
from analysis.projection_targets import VARIANTS
from analysis.words import money
from data.catalogue_types import Platform
from pages.parts.choose import dropdown, segments
from pages.parts.generation_address import number, several

FIRST = "the first that can be projected"
SAME = "the same platform as the rollouts"
MOST_TARGETS = 8
HOLD = {"gpus": "Same GPUs", "step_time": "Same step time", "budget": "Same dollars an hour"}
PRECISIONS = {"bf16": "BF16", "fp8": "FP8", "fp4": "FP4"}
ON_TARGET = {"same": "as measured", **PRECISIONS}
PRECISION_OF = {
    "source_gen_precision": ("pr_sgen", "Rollouts measured in"),
    "gen_precision": ("pr_gen", "Rollouts on targets in"),
    "source_train_precision": ("pr_strain", "Training measured in"),
    "train_precision": ("pr_ttrain", "Training on targets in"),
}
QUOTE_MOST, REPLICA_MOST = 1000.0, 4096
HELP = {
    "run": "The measured run that is projected: its own seconds, scaled to other platforms.",
    "on": "Platforms to project to. Empty: the main ones of the same maker that came after the measured "
    "one. The answer speaks of the first of GB200, GB300 and Vera Rubin among them, unless a closer look, a "
    "single pick, quote or claim names another.",
    "train": "Keeps the training pool on a platform of its own, so that only rollouts move; shown beside the "
    "move of both pools.",
    "hold": "Same GPUs: as many as measured. Same step time: as few as do it. Same dollars an hour: as many "
    "as the bill of today pays for.",
    "replica": "Tensor x pipeline parallelism of one replica of the inference engine, as the run had it. No "
    "log says it; empty: what usual engines need for the measured seconds.",
    "precision": "No log says the precision of a run, so say it here. Targets compute in the same one unless "
    "you choose another: then its gain is part of the answer, and the answer says so.",
}


def levers(runs: Sequence[str], platforms: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Draw the levers that need no answer first.

    Returns parameters of the question and the platform that the training pool stays on, '' for none.
    """
    left, middle, right = st.columns([1, 1.4, 1])
    with left:
        run = dropdown("pr_run", "Run", ["", *runs], "", lambda r: r or FIRST, HELP["run"], width=400)
    with middle:
        targets = several(
            "Platforms", "pr_on", platforms, noun="platform", most=MOST_TARGETS,
            instead="the newer ones of the same maker", placeholder="Newer ones of the same maker",
            tip=HELP["on"],
        )  # fmt: skip
    with right:
        trainer = dropdown(
            "pr_train", "Training pool on", ["", *platforms], "", lambda p: platforms.get(p, SAME),
            HELP["train"], width=400,
        )  # fmt: skip
    return {"run": run, "targets": targets}, trainer


def hold() -> str:
    """Draw what stays equal; returns it."""
    return segments("pr_hold", "Hold equal", list(HOLD), "gpus", HOLD.__getitem__, HELP["hold"])


def precision() -> dict[str, Any]:
    """Draw the precision of run and targets behind a button that says which; returns parameters."""
    asked: dict[str, Any] = {}
    with st.popover(f"Precision: {_precision_words()}", icon=":material/tune:", key="pr_precision"):
        st.caption(HELP["precision"])
        for name, (param, label) in PRECISION_OF.items():
            names, first = _precisions(name)
            asked[name] = dropdown(param, label, list(names), first, names.__getitem__)
        held = number(
            "GPUs of one engine", "pr_rep", 1, REPLICA_MOST, what="an engine of", instead="as many as usual",
            step=1.0, placeholder="as usual engines need", tip=HELP["replica"],
        )  # fmt: skip
    return asked | {"replica_gpus": round(held or 0)}


def _precisions(name: str) -> tuple[Mapping[str, str], str]:
    return (PRECISIONS, "bf16") if name.startswith("source_") else (ON_TARGET, "same")


def _precision_words() -> str:
    """What the button says: the precision of rollouts and training, and the other one on targets."""
    held = {}
    for name, (param, _) in PRECISION_OF.items():
        names, first = _precisions(name)
        words = {w: option for option, w in names.items()}
        held[name] = st.session_state.get(param) or words.get(st.query_params.get(param, ""), first)
    parts = []
    for what, word in (("gen", "rollouts"), ("train", "training")):
        run, target = held[f"source_{what}_precision"], held[f"{what}_precision"]
        moved = f" → {PRECISIONS[target]}" if target in PRECISIONS and target != run else ""
        parts.append(f"{word} {PRECISIONS.get(run, run)}{moved}")
    return ", ".join(parts)


def newer(own: Sequence[str], platforms: Iterable[Platform]) -> list[str]:
    """Return the main platforms of the same maker that were released after `own`, oldest first."""
    makers = {p.platform_id: p.vendor for p in platforms}
    after = max((ORDER.index(p) for p in own if p in ORDER), default=len(ORDER)) + 1
    same = {makers.get(p) for p in own}
    return [p for p in ORDER[after:] if makers.get(p) in same and p not in VARIANTS]


def targets_of(platforms: pd.DataFrame) -> list[str]:
    """Return the projected targets of a platform table, in its order."""
    return [str(t) for t in platforms.loc[platforms["kind"] == "projected", "target"]]


def with_trainer(targets: Sequence[str], trainer: str) -> list[str]:
    """Return the targets, each followed by itself with training on `trainer`, where that is another one."""
    out: list[str] = []
    for target in targets:
        out.append(target)
        if trainer and target != trainer and "+" not in target:
            out.append(f"{target}+{trainer}")
    return out


def quotes(pools: Sequence[str], names: Mapping[str, str], book: Mapping[str, float | None]) -> list[str]:
    """Draw a field for a quote a platform; returns those given, as 'platform:dollars'.

    `book`: USD a GPU-hour of the price kind in use, None where the price book has none.
    """
    found = []
    given = sum(_is_given(f"pr_q_{p}") for p in pools)
    label = f"Your quotes ({given})" if given else "Enter your quotes"
    with st.popover(label, icon=":material/request_quote:", key="pr_quotes"):
        st.caption(
            "Compared with the break-even price, and used instead of the book's. No stored price changes."
        )
        for platform in pools:
            usd, name = book.get(platform), names.get(platform, platform)
            held = number(
                f"{name}, USD a GPU-hour",
                f"pr_q_{platform}",
                0.01,
                QUOTE_MOST,
                what=f"a quote for {name} of",
                instead="the price book's",
                step=0.1,
                placeholder="no quote of this kind in the book"
                if usd is None
                else f"{money(usd)} in the book",
                width=300,
            )
            if held is not None:
                found.append(f"{platform}:{held:g}")
    return found


def _is_given(param: str) -> bool:
    """Whether a field holds a number, or will hold the one of the address."""
    return param in st.query_params if param not in st.session_state else st.session_state[param] is not None


def pools_of(projected: pd.DataFrame) -> list[str]:
    """Return the platforms of the projected rows, each pool's once, in their order."""
    return list(dict.fromkeys(part for target in targets_of(projected) for part in target.split("+")))


def focus_of(
    picked: Sequence[str], trainer: str, names: Mapping[str, str], claimed: Mapping[str, str]
) -> str:
    """Return the target that a person asks for, '' for none: the one looked at, the only platform picked, the
    only one quoted, or that of the only claim that is on (`claimed`: claim -> platform).
    """
    ids = {name: platform for platform, name in names.items()}
    looked = st.query_params.get("pr_look", "")
    if looked:
        parts = [ids.get(part, "") for part in looked.split(" + ")]
        return "+".join(parts) if all(parts) else ""
    quoted = [p for p in names if _is_given(f"pr_q_{p}")]
    spoken = list(dict.fromkeys(p for claim, p in claimed.items() if p and _is_on(f"pr_c_{claim}")))
    for asked in (list(picked), quoted, spoken):
        if len(asked) == 1:
            return with_trainer(asked, trainer)[-1]
    return ""


def _is_on(param: str) -> bool:
    """Whether a switch is on, or will be by the address."""
    if param in st.session_state:
        return bool(st.session_state[param])
    return st.query_params.get(param) == "true"
