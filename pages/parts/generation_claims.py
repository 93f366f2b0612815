"""Claims as scenarios: switches with a badge and a value of one's own, and what is left of each."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.result import Result
from analysis.words import digits3, percent
from charts import projection_drivers as charts
from charts.theme import Mode
from pages.parts.download import show_chart
from pages.parts.generation_address import number, switch
from pages.parts.pictures import picture
from pages.parts.tables import show_table
from pages.parts.words import md_escape

FIRST = ("rubin-quarter-gpus", "rubin-token-cost-10x", "vera-plus-30", "perplexity-1.3s")
"""The claims that everybody has heard, before all others."""
OPEN = "_pr_claims_open"
COLUMNS = (
    "statement", "target", "badge", "value", "unit", "phase", "phase_frac", "step_s_without", "step_s_with",
    "step_s_low", "step_s_high", "left_after", "needed", "applies", "why_not", "measured", "conditions",
    "source", "date",
)  # fmt: skip
LABELS = {
    "statement": "Claim",
    "target": "On",
    "badge": "Badge",
    "value": "Value tried",
    "phase_frac": "Its phases (% of the step)",
    "step_s_without": "Step without (s)",
    "step_s_with": "Step with (s)",
    "step_s_low": "p10 (s)",
    "step_s_high": "p90 (s)",
    "left_after": "Whole step (x)",
    "needed": "What else would have to be true",
    "applies": "Acts here",
    "why_not": "Why not",
    "measured": "What was measured",
}


def switches(menu: pd.DataFrame) -> list[str]:
    """Draw a switch a claim, the best known first; returns 'claim' or 'claim=value' for those that are on."""
    rows = {str(r["claim_id"]): r for r in records(menu)}
    first = [rows[c] for c in FIRST if c in rows]
    rest = [r for name, r in rows.items() if name not in FIRST]
    with st.expander(
        "Claims as scenarios", icon=":material/campaign:", key="pr_claims", expanded=_from_address()
    ):
        st.caption(
            "Scenarios, never measurements. Each acts on the phase it speaks of alone, one at a time, and "
            "against the platform that it compares with."
        )
        found = [_switch(row) for row in first]
        if rest:
            with st.popover(f"{len(rest)} more claims", icon=":material/more_horiz:"):
                found += [_switch(row) for row in rest]
    return [name for name in found if name]


def _from_address() -> bool:
    """Whether the address of this visit asks for claims: then their box is open from the start."""
    asked = any(name.startswith("pr_c_") for name in st.query_params)
    return bool(st.session_state.setdefault(OPEN, asked))


def _switch(row: Mapping[str, Any]) -> str:
    name = str(row["claim_id"])
    with st.container(horizontal=True, vertical_alignment="center", key=f"pr_claim_{name}"):
        # the badge stands beside the label, which is read out as it is written
        on = switch(str(row["statement"]), f"pr_c_{name}", f"the claim {name}", _tip(row))
        st.badge(str(row["badge"]), color="orange")
        if not on:
            return ""
        value = number(
            f"Value ({md_escape(row['unit'])})",
            f"pr_v_{name}",
            float(row["low_limit"]),
            float(row["high_limit"]),
            what=f"a value of the claim {name} of",
            instead="the published one",
            step=0.05 if float(row["value"]) < 1 else 0.1,
            placeholder=f"{digits3(float(row['value']))} as published",
        )
    return name if value is None else f"{name}={value:g}"


def _tip(row: Mapping[str, Any]) -> str:
    parts = [row.get("reads_as"), row.get("conditions"), row.get("note"), row.get("source"), row.get("date")]
    return md_escape("; ".join(str(p) for p in parts if p and p == p))


def show_left(result: Result, mode: Mode) -> None:
    """Draw what is left of each claim that is on: the step with it, and what else would have to be true."""
    table = result.tables["claims"]
    if table.empty:
        return
    acting = table[table["applies"].astype(bool)]
    if len(acting):
        show_chart(picture(charts.claims, result, mode), key="projection_claims")
        st.markdown("\n".join(f"- {_sentence(row)}" for row in records(acting)))
    idle = table[~table["applies"].astype(bool)]
    for (claim, why), part in idle.groupby(["statement", "why_not"], sort=False):
        where = ", ".join(str(t) for t in part["target"])
        st.caption(f"No effect on {md_escape(where)}: {md_escape(str(claim))}. {md_escape(str(why))}")
    show_table(result, "claims", title="Claims tried", columns=COLUMNS, labels=LABELS)


def _sentence(row: Mapping[str, Any]) -> str:
    text = (
        f"**{md_escape(row['statement'])}** ({md_escape(row['target'])}): its phases are "
        f"{percent(row['phase_frac'])} of the step, so it goes from {digits3(row['step_s_without'])} to "
        f"{digits3(row['step_s_with'])} s ({digits3(row['step_s_low'])} to {digits3(row['step_s_high'])}): "
        f"**x {digits3(row['left_after'])}** of the whole."
    )
    return f"{text} {md_escape(row['needed'])}".replace(" %", "\u00a0%").strip()
