"""One file as a card: what it is and why, where every record went, what was found, what can be changed."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.billfiles import file_bill, file_words
from data.job_runs import job_ties
from data.mapping.language import FORMAT
from data.queries import uploads as queries
from data.receipt import Receipt
from data.store import Store
from pages.parts import join_form
from pages.parts import upload_actions as actions
from pages.parts.dialogs import is_open, open_dialog
from pages.parts.mapping import offer_mapping, remap, remap_button
from pages.parts.words import file_size, md_escape
from reports.uploads import original_url

ASIDE_LIMIT = 500
LONG_REMEDY = 300
PARQUET_MARK = "PAR1"


def show_card(store: Store, upload_id: str, *, key: str, closable: bool = False, again: str = "") -> None:
    """Draw the card of an upload; `again`: its bytes were in the home already, and what that means."""
    with store.view() as view:
        found = queries.receipt_and_choices(view, upload_id)
        aside = queries.set_aside(view, upload_id, ASIDE_LIMIT)
    if found is None:
        st.caption("This upload has been undone.")
        return
    receipt, choices = Receipt.from_dict(found[0]), found[1]
    with st.container(border=True, key=f"card_{key}"):
        _head(receipt, choices, key, closable)
        if again:
            st.info(md_escape(again))
        st.markdown(_books(receipt))
        _found(receipt)
        join_form.show_joins(store, receipt, bool(choices.get("synthetic")))
        _checks(_with_jobs(store, receipt))
        _matched(store, receipt)
        with st.container(horizontal=True):
            _aside(receipt, aside, key)
            _columns(receipt, key)
            _choices(store, receipt, choices, key)
            join_form.show_form(store, receipt, key)
            if receipt.unmapped or receipt.format == FORMAT:
                remap_button(key)
        picked = remap(store, receipt.file, store.original(receipt.sha256), key=key)
        if picked:
            actions.read_again(store, receipt, {**choices, **picked})
        _actions(store, receipt, key)


def show_failure(
    store: Store, name: str, error: Mapping[str, Any], head: str, *, key: str
) -> dict[str, Any] | None:
    """Draw the card of a file that was refused; returns choices when the person says how to read it."""
    head = "\n".join(error.get("preview") or head.splitlines())
    asks = error.get("kind") == "AmbiguousFormatError"
    with st.container(border=True, key=f"card_{key}"):
        badge = ":orange-badge[:material/help: which format?]" if asks else ":red-badge[not loaded]"
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{md_escape(name)}** {badge}", width="stretch")
            st.button("Close", key=f"close_{key}", type="tertiary", on_click=actions.close_card, args=(key,))
        where = f" ({md_escape(error['where'])})" if error.get("where") else ""
        remedy = str(error.get("remedy", ""))
        table = error.get("table")
        long = bool(table) and len(remedy) > LONG_REMEDY
        said = "Say what its columns are; nothing has to be dropped again." if long else remedy
        st.markdown(f"{md_escape(error['what'])}{where}. {md_escape(said)}")
        st.caption("Nothing of this file was stored.")
        if head and not head.startswith(PARQUET_MARK):
            with st.expander("First lines of the file", icon=":material/visibility:", expanded=asks):
                st.code("\n".join(head.splitlines()[:12])[:2_000], language=None, wrap_lines=False)
        if long:
            with st.expander("What is read without mapping", icon=":material/list:"):
                st.markdown(md_escape(remedy))
        if error.get("prices"):
            st.page_link("prices.py", label="Price book: import a list", icon=":material/sell:")
        mapped = offer_mapping(store, name, table, key=key) if table else None
        picked = _ask_format(error, key) if asks else None
        return mapped or ({"format": picked} if picked else None)


def show_summary(name: str, summary: Mapping[str, Any], *, key: str) -> None:
    """Draw the card of an archive: how many of its files were loaded, and which were passed over."""
    receipts, passed = summary["receipts"], summary["passed_over"]
    with st.container(border=True, key=f"card_{key}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{md_escape(name)}** :blue-badge[archive]", width="stretch")
            st.button("Close", key=f"close_{key}", type="tertiary", on_click=actions.close_card, args=(key,))
        again = sum(1 for receipt in receipts if receipt["duplicate_of"])
        text = f"**{len(receipts) - again:,} of its files were loaded**, each with a card below"
        text += f"; {again:,} were here before" if again else ""
        text += f"; {len(summary['errors']):,} were refused" if summary["errors"] else ""
        st.markdown(f"{text}.")
        if passed:
            with st.popover(f"Passed over: {len(passed):,}", icon=":material/rule:", key=f"passed_{key}"):
                st.caption("No reader knows these. Load one by itself to choose a format.")
                frame = pd.DataFrame(passed[:ASIDE_LIMIT]).rename(columns={"file": "File", "why": "Why"})
                st.dataframe(
                    frame, hide_index=True, key=f"passed_table_{key}", alt="Files of the archive not loaded"
                )


def _ask_format(error: Mapping[str, Any], key: str) -> str | None:
    titles = actions.format_titles(askable=True)
    likely = {c["format"]: c for c in error.get("candidates", [])}
    for found in likely.values():
        st.caption(
            f"{md_escape(found['title'])}: {100 * found['confidence']:.0f} % sure. {md_escape(found['why'])}"
        )
    names = [*likely, *(name for name in titles if name not in likely)]
    with st.form(f"format_form_{key}", border=False):
        picked = st.selectbox("Read it as", names, format_func=lambda n: titles.get(n, n), key=f"as_{key}")
        return picked if st.form_submit_button("Read it", icon=":material/play_arrow:") else None


def _head(receipt: Receipt, choices: Mapping[str, Any], key: str, closable: bool) -> None:
    synthetic = " :violet-badge[synthetic]" if choices.get("synthetic") else ""
    title = actions.format_titles().get(receipt.format, receipt.format)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(
            f"**{md_escape(receipt.file)}** :blue-badge[{md_escape(title)}]{synthetic}", width="stretch"
        )
        if closable:
            st.button("Close", key=f"close_{key}", type="tertiary", on_click=actions.close_card, args=(key,))
    sure = f"{100 * receipt.confidence:.0f} % sure"
    why = f"{receipt.why[:1].upper()}{receipt.why[1:]}".rstrip(".")
    st.caption(f"{md_escape(why)} ({sure}). {file_size(receipt.size_bytes)}, {md_escape(receipt.encoding)}.")


def _books(receipt: Receipt) -> str:
    ignored = sum(receipt.ignored.values())
    line = (
        f"**{receipt.records:,} records** = {receipt.stored:,} stored + {receipt.quarantined:,} set aside "
        f"+ {ignored:,} ignored"
    )
    if receipt.ignored:
        reasons = "; ".join(f"{n:,} {why}" for why, n in receipt.ignored.items())
        line += f" ({md_escape(reasons)})"
    rows = sum(receipt.rows_written.values())
    return f"{line} :gray[· {rows:,} rows written]"


def _found(receipt: Receipt) -> None:
    parts = []
    if receipt.runs:
        names = ", ".join(md_escape(r) for r in receipt.runs[:6])
        more = f" and {len(receipt.runs) - 6} more" if len(receipt.runs) > 6 else ""
        parts.append(f"Run{'s' if len(receipt.runs) > 1 else ''}: **{names}**{more}")
    count = receipt.steps.get("count") or 0
    if count:
        parts.append(f"steps {receipt.steps['first']:,} to {receipt.steps['last']:,} ({count:,})")
    if receipt.timezone:
        assumed = ", which is assumed" if receipt.timezone_assumed else ""
        parts.append(f"stamps read in {md_escape(receipt.timezone)}{assumed}")
    if parts:
        st.markdown(" · ".join(parts))


def _with_jobs(store: Store, receipt: Receipt) -> Receipt:
    """The receipt with what its scheduler jobs are tied to now: runs may have come or gone since."""
    if not (receipt.tied or receipt.untied):
        return receipt
    with store.view() as view:
        known, loose = job_ties(view, receipt.upload_id, receipt.runs)
    return receipt.with_(tied=tuple(known), untied=tuple(loose))


def _checks(receipt: Receipt) -> None:
    lines = [":green[:material/check:] Every record is accounted for."]
    lines += [f":green[:material/check:] {md_escape(text)}" for text in receipt.tied]
    cautions = [*receipt.untied, *receipt.warnings]
    lines += [f":orange[:material/warning:] {md_escape(text)}" for text in cautions[:8]]
    if len(cautions) > 8:
        lines.append(f"and {len(cautions) - 8} more in the receipt")
    st.markdown("  \n".join(lines))


def _matched(store: Store, receipt: Receipt) -> None:
    """Say of a bill what Money has matched already, so that nobody books it a second time."""
    if not receipt.rows_written.get("costs"):
        return
    with store.view() as view:
        found = file_bill(view, receipt.upload_id)
    if found is not None:
        st.markdown(f":material/payments: **On Money:** {md_escape(file_words(found))}")


def _aside(receipt: Receipt, aside: pd.DataFrame, key: str) -> None:
    if aside.empty:
        return
    whole = int(aside["column_name"].isna().sum())
    label = f"Set aside: {receipt.quarantined:,} records"
    if len(aside) > whole:
        label += f", {len(aside) - whole:,} cells"
    with st.popover(label, icon=":material/rule:", key=f"aside_{key}"):
        st.caption("A cell that was set aside is empty in its record; the rest of the record is stored.")
        st.dataframe(
            aside,
            hide_index=True,
            key=f"aside_table_{key}",
            alt="Lines set aside with their reasons",
            column_config={
                "line": st.column_config.NumberColumn("Line", format="%d"),
                "column_name": st.column_config.TextColumn("Column"),
                "reason": st.column_config.TextColumn("Reason"),
                "text": st.column_config.TextColumn("Text", width="large"),
            },
        )


def _columns(receipt: Receipt, key: str) -> None:
    if not receipt.mapped and not receipt.unmapped:
        return
    label = f"{len(receipt.mapped)} columns mapped, {len(receipt.unmapped)} kept as they are"
    with st.popover(label, icon=":material/schema:", key=f"columns_{key}"):
        if receipt.mapped:
            frame = pd.DataFrame(
                {"In the file": list(receipt.mapped), "Read as": list(receipt.mapped.values())}
            )
            st.dataframe(
                frame, hide_index=True, key=f"mapped_{key}", alt="Columns and what they were read as"
            )
        if receipt.unmapped:
            shown = ", ".join(f"`{name}`" for name in receipt.unmapped[:60] if "`" not in name)
            st.caption(f"Not mapped; numbers among them are kept under their own name: {shown}")


def _choices(store: Store, receipt: Receipt, choices: Mapping[str, Any], key: str) -> None:
    with (
        st.popover("Read it differently", icon=":material/tune:", key=f"choices_{key}"),
        st.form(f"choices_form_{key}", border=False),
    ):
        st.caption("Undoes this upload and reads the kept original again.")
        zones = actions.zones(receipt.timezone)
        zone = st.selectbox("Time zone of stamps without one", zones, index=0, key=f"zone_{key}")
        run = st.text_input("Run", value=str(choices.get("run") or ""), key=f"run_{key}", max_chars=200)
        host = st.text_input("Host", value=str(choices.get("host") or ""), key=f"host_{key}", max_chars=200)
        whose = _evaluated(receipt, choices, key)
        formats = actions.format_titles()
        names = [name for name in formats if name != FORMAT or name == receipt.format]
        index = names.index(receipt.format) if receipt.format in names else 0
        form = st.selectbox(
            "Format", names, index=index, format_func=formats.__getitem__, key=f"format_{key}"
        )
        if st.form_submit_button("Read again", icon=":material/refresh:"):
            wanted: dict[str, Any] = {"timezone": zone, "run": run.strip(), "host": host.strip(), **whose}
            if form != receipt.format or choices.get("format"):
                wanted["format"] = form
            if form != receipt.format:
                wanted["columns"] = {}
            actions.read_again(store, receipt, {**choices, **wanted})


def _evaluated(receipt: Receipt, choices: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Fields of a file of scores: the step of the run that was evaluated, and the benchmark of its tasks."""
    if not receipt.rows_written.get("evals"):
        return {}
    step = st.number_input(
        "Step of the run that was evaluated",
        value=choices.get("step"),
        min_value=0,
        step=1,
        key=f"step_{key}",
        help="With the run above it says whose checkpoint this was.",
        placeholder="Not known",
    )
    found: dict[str, Any] = {"step": None if step is None else int(step)}
    if receipt.rows_written.get("eval_tasks"):
        name = st.text_input(
            "Benchmark",
            value=str(choices.get("benchmark") or ""),
            key=f"benchmark_{key}",
            max_chars=200,
            help="Where no column names it. Files are compared only on the same benchmark.",
        )
        found["benchmark"] = name.strip()
    return found


def _actions(store: Store, receipt: Receipt, key: str) -> None:
    with st.container(horizontal=True):
        st.button(
            "Undo this upload",
            key=f"undo_{key}",
            icon=":material/undo:",
            on_click=actions.undo,
            args=(store, receipt.upload_id, receipt.file),
        )
        name = f"original_{key}"
        st.button("Original file", key=name, icon=":material/download:", on_click=open_dialog, args=(name,))
        if is_open(name):
            actions.offer_original(original_url(receipt.upload_id), receipt.file)
        st.download_button(
            "Receipt",
            lambda: json.dumps(receipt.to_dict(), indent=1, default=str).encode("utf-8"),
            file_name=f"receipt-{receipt.upload_id}.json",
            mime="application/json",
            key=f"receipt_{key}",
            icon=":material/receipt_long:",
            on_click="ignore",
        )
