"""The form that asks for what no file knows: campaign, model, and the pools with their platform and GPUs."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from data.catalogue import Catalogue
from data.catalogue_types import RENT_KINDS
from data.errors import UserError
from data.facts_base import gpu_number
from data.queries import run_details as queries
from data.run_details import (
    SCHEDULER,
    Missing,
    PoolDetails,
    Role,
    RunDetails,
    Status,
    Suggestion,
    current_details,
    missing_for_cost,
    proposals,
    save_details,
    start_choices,
)
from data.store import Store
from pages.parts.model_picker import pick_model, resolve_model
from pages.parts.notices import show_error
from pages.parts.words import ALGORITHMS, MODES, md_escape

POOL_COLUMNS = ["pool", "role", "platform", "gpus", "cores", "price_id", "seconds"]
RESUMED_HELP = "Step of the checkpoint it started from; 0 for a start from nothing. Empty: as the files say."
FIELD_WORDS = {
    "gpus": "GPUs",
    "gpus_train": "training GPUs",
    "gpus_rollout": "rollout GPUs",
    "llm": "model",
    "mode": "mode",
    "algorithm": "algorithm",
    "campaign": "campaign",
    "platform": "platform",
    "rollouts_per_step": "rollouts a step",
}


def show_run_form(store: Store, run: str, *, key: str) -> None:
    """Draw the form of one run, filled with what is known and what the files let us infer."""
    with store.view() as view:
        details = current_details(view, run)
        hints = proposals(view, run)
        lacking = missing_for_cost(view, run)
        known = queries.pools(view, run)
        attempts = queries.attempts(view, run)
        campaigns = queries.campaigns(view)
        in_force = queries.heads(view, run)
        starts = start_choices(view, run)
        catalogue = view.catalogue
    _lacking(run, lacking)
    _hints(hints, catalogue)
    with st.form(f"details_{key}", border=False):
        chosen = _heads(details, in_force, hints, campaigns, catalogue, key)
        pools = initial_pools(details, known, hints)
        shared = _shared_platform(pools, catalogue, key)
        pools = with_platform(_pool_editor(pools, catalogue, key), shared)
        chosen |= _attempts_editor(attempts, details, key)
        chosen["start_checkpoint"] = _started_from(starts, details, key)
        note = st.text_input("Note", value=details.note or "", key=f"note_{key}", max_chars=500)
        if not st.form_submit_button("Save run details", type="primary", icon=":material/save:"):
            return
    _save(store, catalogue, details, {**chosen, "note": note.strip() or None}, pools)


def initial_pools(details: RunDetails, known: pd.DataFrame, hints: Sequence[Suggestion]) -> pd.DataFrame:
    """Pools to start from: those decided, else those in the files, else those inferred."""
    rows: list[dict[str, Any]]
    if details.pools:
        rows = [p.model_dump() for p in details.pools]
    elif not known.empty:
        rows = known.to_dict("records")
    else:
        rows = _inferred(hints)
    frame = pd.DataFrame(rows, columns=POOL_COLUMNS)
    for name in ("gpus", "cores", "seconds"):
        frame[name] = pd.to_numeric(frame[name]).astype("float64")
    for name in ("pool", "role", "platform", "price_id"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    return frame


def _inferred(hints: Sequence[Suggestion]) -> list[dict[str, Any]]:
    found = {h.field: h.value for h in hints if _may_stand(h)}
    platform = found.get("platform")
    pools = {"gpus_train", "gpus_rollout"} & set(found)
    if len(pools) == 2 or (pools and "gpus" not in found):
        return [
            {"pool": role, "role": role, "platform": platform, "gpus": found.get(f"gpus_{role}")}
            for role in ("train", "rollout")
        ]
    return [{"pool": "all", "role": "colocated", "platform": platform, "gpus": found.get("gpus")}]


def _may_stand(hint: Suggestion) -> bool:
    """Whether a value may fill its field: a GPU count that is not whole is a sign that something is off."""
    return not (hint.field.startswith("gpus") and float(hint.value) != int(hint.value))


def pools_of(frame: pd.DataFrame) -> tuple[PoolDetails, ...]:
    """Rows of the editor as pools, blank ones left out; ValidationError names a bad one."""
    pools = []
    for row in frame.to_dict("records"):
        given = {str(k): v for k, v in row.items() if v is not None and not pd.isna(v) and v != ""}
        if set(given) & {"gpus", "cores", "platform"}:
            pools.append(PoolDetails.model_validate(given))
    return tuple(pools)


def with_platform(pools: pd.DataFrame, platform: str | None) -> pd.DataFrame:
    """The pools with `platform` where a pool with GPUs names none."""
    if platform is None:
        return pools
    open_ = pools["platform"].isna() & pools["gpus"].notna()
    return pools.assign(platform=pools["platform"].mask(open_, platform))


def _shared_platform(pools: pd.DataFrame, catalogue: Catalogue, key: str) -> str | None:
    """One plain control for the commonest gap: no file says on which platform the run was."""
    if pools["platform"].notna().all():
        return None
    names = {p.platform_id: p.name for p in catalogue.platforms()}
    return st.selectbox(
        "Platform",
        list(names),
        index=None,
        format_func=names.__getitem__,
        placeholder="Choose: it counts for every pool below that names none",
        key=f"platform_{key}",
    )


def _lacking(run: str, lacking: Sequence[Missing]) -> None:
    if not lacking:
        st.markdown(f":green[:material/check:] {md_escape(run)} has all that a dollar figure needs.")
        return
    lines = [f":orange[:material/help:] {md_escape(item.text)}" for item in lacking]
    st.markdown("  \n".join(lines))


def _hints(hints: Sequence[Suggestion], catalogue: Catalogue) -> None:
    named = {p.platform_id: p.name for p in catalogue.platforms()}
    named |= catalogue.llm_names()
    lines = [
        f"- **{FIELD_WORDS.get(h.field, h.field)}: {md_escape(_value(h, named))}**{_badge(h)} "
        f"{md_escape(h.how)}"
        for h in hints
    ]
    if lines:
        st.caption("Inferred from the files; nothing counts before you save it:\n" + "\n".join(lines))


def _badge(hint: Suggestion) -> str:
    return " :blue-badge[from the scheduler]" if hint.source == SCHEDULER else ""


def _value(hint: Suggestion, named: Mapping[str, str]) -> str:
    if hint.field.startswith("gpus"):
        number = gpu_number(float(hint.value))
        return number if _may_stand(hint) else f"{number}, not a whole number, so type what was held"
    return named.get(str(hint.value), str(hint.value))


def _heads(
    details: RunDetails,
    in_force: dict[str, str | None],
    hints: Sequence[Suggestion],
    campaigns: Sequence[str],
    catalogue: Catalogue,
    key: str,
) -> dict[str, Any]:
    inferred = {h.field: str(h.value) for h in hints}

    def start(name: str) -> str | None:
        return getattr(details, name) or in_force.get(name) or inferred.get(name)

    first, second, third, fourth = st.columns(4)
    with first:
        campaign = _pick("Campaign", list(campaigns), start("campaign"), f"campaign_{key}", new=True)
    with second:
        llm = pick_model(catalogue, start("llm"), f"llm_{key}")
    with third:
        algorithm = _pick(
            "Algorithm", list(ALGORITHMS), start("algorithm"), f"algorithm_{key}", words=ALGORITHMS
        )
    with fourth:
        mode = _pick("Mode", list(MODES), start("mode"), f"mode_{key}", words=MODES)
    return {"campaign": campaign, "llm": llm, "algorithm": algorithm, "mode": mode}


def _pick(
    label: str,
    options: list[str],
    start: str | None,
    key: str,
    *,
    new: bool = False,
    words: Mapping[str, str] | None = None,
) -> str | None:
    named = words or {}
    if start and start not in options and new:
        options = [start, *options]
    picked = st.selectbox(
        label,
        options,
        index=options.index(start) if start in options else None,
        placeholder="Choose or type" if new else "Not known",
        accept_new_options=new,
        format_func=lambda option: named.get(option, option),
        key=key,
    )
    return picked.strip() or None if isinstance(picked, str) else None


def _started_from(starts: Sequence[str], details: RunDetails, key: str) -> str | None:
    """Which weights the money started from: only needed where no file says so."""
    now = details.start_checkpoint
    options = [*starts, now] if now and now not in starts else list(starts)
    return st.selectbox(
        "Started from",
        options,
        index=options.index(now) if now else None,
        placeholder="As the files say: step 0, or the parent of a checkpoint",
        help="The checkpoint from which the gain counts. Load its evaluation to find it here.",
        key=f"start_{key}",
    )


def _pool_editor(frame: pd.DataFrame, catalogue: Catalogue, key: str) -> pd.DataFrame:
    names = {p.platform_id: p.name for p in catalogue.platforms()}
    prices = [p.price_id for p in catalogue.prices() if p.kind in RENT_KINDS and p.value is not None]
    st.markdown(
        "**Pools** :small[GPUs held for the whole run. Separate rollout GPUs are a pool of their own.]"
    )
    column = st.column_config
    edited: pd.DataFrame = st.data_editor(
        frame,
        num_rows="dynamic",
        hide_index=True,
        key=f"pools_{key}",
        placeholder="",
        alt="Pools of the run: role, platform, GPUs, cores, price",
        column_config={
            "pool": column.TextColumn("Pool", default="all", width="small"),
            "role": column.SelectboxColumn(
                "Role", options=list(get_args(Role)), default="colocated", width="small"
            ),
            "platform": column.SelectboxColumn(
                "Platform", options=list(names), format_func=names.__getitem__, width="medium"
            ),
            "gpus": column.NumberColumn("GPUs", min_value=0, format="%g", width="small"),
            "cores": column.NumberColumn("Cores", min_value=0, format="%g", width="small"),
            "price_id": column.SelectboxColumn(
                "Own price", options=prices, help="Empty: the price picked in the sidebar.", width="medium"
            ),
            "seconds": column.NumberColumn(
                "Seconds", min_value=0, format="%g", help="Only where no file tells the time.", width="small"
            ),
        },
    )
    return edited


def _attempts_editor(attempts: pd.DataFrame, details: RunDetails, key: str) -> dict[str, dict[int, Any]]:
    """Status and resumption by attempt: what a person said before, with what is edited now."""
    if attempts.empty:
        return {"status": dict(details.status), "resumed": dict(details.resumed)}
    frame = attempts[["attempt", "status"]].copy()
    frame["hours"] = attempts["elapsed_s"] / 3600
    frame["basis"] = attempts["elapsed_basis"]
    step, assumed = attempts["resumed_from_step"].astype("float64"), attempts["resumed_assumed"].astype(bool)
    frame["resumed"], frame["assumed"] = step.mask(assumed), step.where(assumed)
    with st.expander("Attempts and how they ended", icon=":material/flag:"):
        edited = st.data_editor(
            frame,
            hide_index=True,
            disabled=["attempt", "hours", "basis", "assumed"],
            key=f"status_{key}",
            alt="Attempts and their status",
            column_config={
                "attempt": st.column_config.NumberColumn("Attempt", format="%d"),
                "status": st.column_config.SelectboxColumn(
                    "Status", options=list(get_args(Status)), required=True
                ),
                "hours": st.column_config.NumberColumn("Hours", format="%.2f"),
                "basis": st.column_config.TextColumn("Time from"),
                "resumed": st.column_config.NumberColumn(
                    "Resumed from step", min_value=0, step=1, format="%d", help=RESUMED_HELP
                ),
                "assumed": st.column_config.NumberColumn("Assumed from step numbers", format="%d"),
            },
        )
    return edited_attempts(frame, edited, details)


def edited_attempts(
    before: pd.DataFrame, after: pd.DataFrame, details: RunDetails
) -> dict[str, dict[int, Any]]:
    """Status and resumption by attempt after an edit; an emptied step leaves the attempt to the files."""
    status, resumed = dict(details.status), dict(details.resumed)
    for old, new in zip(before.to_dict("records"), after.to_dict("records"), strict=True):
        attempt = int(new["attempt"])
        if old["status"] != new["status"]:
            status[attempt] = new["status"]
        if pd.isna(new["resumed"]):
            resumed.pop(attempt, None)
        elif old["resumed"] != new["resumed"]:
            resumed[attempt] = int(new["resumed"])
    return {"status": status, "resumed": resumed}


def _save(
    store: Store, catalogue: Catalogue, details: RunDetails, chosen: dict[str, Any], pools: pd.DataFrame
) -> None:
    try:
        chosen["llm"] = resolve_model(catalogue, chosen["llm"])
        new = RunDetails.model_validate(
            {**details.model_dump(), **chosen, "pools": [p.model_dump() for p in pools_of(pools)]}
        )
        save_details(store, new)
    except ValidationError as error:
        show_error(UserError(*_words(error), "Correct it and save again."))
        return
    except UserError as error:
        show_error(error)
        return
    st.toast(f"Run details of {details.run} saved.", icon=":material/check:")
    st.rerun()


def _words(error: ValidationError) -> tuple[str, str]:
    first = error.errors()[0]
    place = ".".join(str(p) for p in first["loc"]) or "pools"
    return first["msg"].removeprefix("Value error, "), place
