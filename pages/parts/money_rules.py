"""Rules about shared costs on the Money page: the ones in force, a form, and taking one back."""

from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import table
from analysis.result import Result
from data.errors import UserError
from data.money.rules import SharingRule, declare_rule, retire_rule, sharing_rules
from data.queries import campaigns as queries
from data.store import Store
from pages.parts.money_campaigns import LABELS
from pages.parts.notices import docs_address, show_error
from pages.parts.price_forms import done, show_said, who
from pages.parts.state import current
from pages.parts.tables import show_table

METHODS = {"equal": "Equal parts", "gpu_hours": "By GPU-hours", "fixed": "Fixed shares"}
SUBJECTS = {
    "run": "Run",
    "campaign": "Campaign",
    "kind": "Kind of charge",
    "role": "Role of the pool",
    "pool": "Pool",
}
KINDS = ["storage", "data", "evals", "staff", "cpu", "unused", "gpu", "other"]
ROLES = ["judge", "rollout", "train", "sandbox", "colocated"]
COLUMNS = ["name", "picks", "method", "targets", "start", "end", "note", "version"]
RULE_LABELS = {
    "name": "Rule", "picks": "Charges", "method": "How", "targets": "Borne by", "start": "From (UTC day)",
    "end": "Until before (UTC day)", "note": "Why", "version": "Version",
}  # fmt: skip
MOVED_LABELS = LABELS | {
    "rule": "Rule", "method": "How", "subject": "Charges", "charges": "Charges met", "target": "Borne by",
    "share_frac": "Share (%)",
}  # fmt: skip


def show(result: Result) -> None:
    """What rules moved in the period, the rules in force, the form, and the unallocated rest."""
    show_said()
    state = current()
    with state.view() as view:
        rules = sharing_rules(view)
        campaigns = sorted(str(c) for c in queries.campaigns(view)["campaign"] if c)
        runs = sorted(str(r) for r in queries.runs(view)["run"] if r)
    st.caption(
        "Teachers, SFT, storage or judges may serve several campaigns. Nothing moves without a rule; rules "
        f"are kept in versions, and no total changes. [How rules work]({docs_address('Campaigns')})"
    )
    if not rules:
        st.info(
            "No rule is declared: every charge stays with the campaign of its run.", icon=":material/rule:"
        )
    listed = Result("campaigns", result.params, "", tables={"rules": _rows(rules)})
    show_table(listed, "rules", title="Rules in force", labels=RULE_LABELS, optional=("start", "end", "note"))
    moved = result.tables["sharing"]
    said = moved.assign(method=[METHODS.get(m, m) for m in moved["method"]])
    show_table(
        Result("campaigns", result.params, "", tables={"sharing": said}), "sharing",
        title="What they moved in this period", labels=MOVED_LABELS, cents=("usd",),
        blank={"target": "stays where it was"},
    )  # fmt: skip
    for notice in result.warnings:
        if notice.code.startswith("rule"):
            st.warning(_plain(notice.text), icon=":material/warning:")
    left, right = st.columns(2, gap="large")
    with left:
        _declare(state.store, campaigns, runs)
    with right:
        _take_back(state.store, rules)
    show_table(
        result, "unallocated", title="Unallocated: borne by no campaign", labels=LABELS, cents=("usd",),
        columns=("what", "owner", "usd", "share_frac"), blank={"owner": "nobody"},
    )  # fmt: skip


def _plain(text: str) -> str:
    return text.replace("$", "\\$")


def _rows(rules: list[SharingRule]) -> pd.DataFrame:
    rows = [
        {"name": rule.name, "picks": ", ".join(f"{SUBJECTS[k].lower()} {v}" for k, v in rule.subject.items()),
         "method": METHODS[rule.method], "targets": _targets(rule), "start": rule.start, "end": rule.end,
         "note": rule.note, "version": rule.version}
        for rule in rules
    ]  # fmt: skip
    return table(rows, COLUMNS)


def _targets(rule: SharingRule) -> str:
    return ", ".join(f"{name} {100 * rule.fixed[name]:g} %" if rule.fixed else name for name in rule.targets)


def _declare(store: Store, campaigns: list[str], runs: list[str]) -> None:
    st.markdown("**Declare a rule**")
    told: dict[str, Any] = {
        "name": st.text_input("Name", key="rule_name", placeholder="teacher of the spring models"),
        "subject": _subject(campaigns, runs),
    }
    told |= _shared_by(campaigns) | _days()
    told["note"] = st.text_input("Why", key="rule_note", max_chars=300)
    if not st.button("Declare", type="primary", icon=":material/add:", key="rule_declare"):
        return
    try:
        declare_rule(store, who=who(), **told)
    except UserError as error:
        show_error(error)
        return
    done(f"Rule '{told['name'].strip()}' counts from now on.")


def _subject(campaigns: list[str], runs: list[str]) -> dict[str, str]:
    """Which charges the rule is about."""
    row = st.columns(2)
    field = row[0].selectbox(
        "Which charges", list(SUBJECTS), format_func=SUBJECTS.__getitem__, key="rule_field"
    )
    known = {"run": runs, "campaign": campaigns, "kind": KINDS, "role": ROLES}.get(field, [])
    value = row[1].selectbox(
        SUBJECTS[field], known, index=None, accept_new_options=True, key=f"rule_value_{field}",
        placeholder="choose or type",
    )  # fmt: skip
    return {field: value or ""}


def _shared_by(campaigns: list[str]) -> dict[str, Any]:
    """Who bears them and how: names, or a share of each where the shares are fixed."""
    targets = st.multiselect(
        "Campaigns that bear it", campaigns, accept_new_options=True, key="rule_targets",
        placeholder="choose or type",
    )  # fmt: skip
    method = st.segmented_control(
        "How", list(METHODS), default="equal", required=True, format_func=METHODS.__getitem__,
        key="rule_method",
    )  # fmt: skip
    if method != "fixed":
        return {"method": str(method), "targets": targets}
    typed = {
        name: st.number_input(f"Share of {name} (%)", 0.0, 100.0, None, 5.0, key=f"rule_share_{name}")
        for name in targets
    }
    shares = {name: "" if part is None else f"{part / 100:.6g}" for name, part in typed.items()}
    return {"method": str(method), "targets": shares}


def _days() -> dict[str, Any]:
    row = st.columns(2)
    start = row[0].date_input("From (UTC day)", None, format="YYYY-MM-DD", key="rule_start")
    end = row[1].date_input(
        "Until before (UTC day)", None, format="YYYY-MM-DD", key="rule_end",
        help="The first day it does not hold any more.",
    )  # fmt: skip
    return {"start": start, "end": end}


def _take_back(store: Store, rules: list[SharingRule]) -> None:
    if not rules:
        return
    st.markdown("**Take a rule back**")
    name = st.selectbox("Rule", [rule.name for rule in rules], key="rule_pick")
    note = st.text_input("Why it ends", key="rule_why", max_chars=300)
    if st.button("Take it back", icon=":material/undo:", key="rule_undo"):
        try:
            retire_rule(store, name, note=note, who=who())
        except UserError as error:
            show_error(error)
            return
        done(f"Rule '{name}' moves nothing any more. Its versions stay.")
