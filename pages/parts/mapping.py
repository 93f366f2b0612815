"""The mapping screen: a table that nobody recognised, and what each of its columns is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import streamlit as st

from data.mapping.guess import as_choice, guess, unit_of
from data.mapping.language import (
    BENCHMARK,
    CUMULATIVE,
    FIXED,
    FORMAT,
    ROW_NUMBER,
    Field,
    Meaning,
    Target,
    make_plan,
    missing_fields,
    parse_meaning,
    targets,
)
from data.mapping.saved import SavedMapping, saved_mapping
from data.parse.table_records import TableSample, file_sample
from data.store import Store
from pages.parts import upload_actions as actions
from pages.parts.mapping_preview import in_words, preview, summary_of
from pages.parts.words import md_escape

_NOT_USED = ""
_FIRST_COLUMNS = 40
_ROWS = 6
_BASIS = {
    "step": "per step",
    CUMULATIVE: "running total",
    "per_gpu": "of one GPU",
    "cluster": "of all GPUs",
}


@dataclass(frozen=True)
class _Screen:
    """The table on the screen: `key` of its card, and what was chosen for these columns before."""

    key: str
    name: str
    table: TableSample
    saved: SavedMapping | None

    def state(self, *parts: object) -> str:
        """A widget's key."""
        return "_".join(("map", self.key, *map(str, parts)))


def offer_mapping(store: Store, name: str, table: Mapping[str, Any], *, key: str) -> dict[str, Any] | None:
    """Offer to map the columns of a refused table; returns the choices to read it with once they are made."""
    sample = TableSample.from_dict(table)
    screen = _Screen(key, name, sample, saved_mapping(store.workspace, sample.header))
    with st.container(horizontal=True):
        if screen.saved is not None:
            day = _day(screen.saved.at)
            if st.button(
                f"Use the mapping of {day}",
                key=screen.state("again"),
                icon=":material/history:",
                type="primary",
            ):
                return _choices(dict(screen.saved.columns), screen.saved.timezone, "", "")
        st.button(
            "Map its columns",
            key=screen.state("open"),
            icon=":material/schema:",
            type="secondary" if screen.saved else "primary",
            on_click=_toggle,
            args=(screen.state("is_open"),),
        )
    if st.session_state.get(screen.state("is_open")):
        _form(screen)
    taken: dict[str, Any] | None = st.session_state.pop(screen.state("taken"), None)
    return taken


def remap_button(key: str) -> None:
    """The button by which the columns of a stored upload can be mapped; `remap` draws what it opens."""
    name = f"map_{key}_is_open"
    st.button(
        "Map its columns",
        key=f"map_{key}_open",
        icon=":material/schema:",
        on_click=_toggle,
        args=(name,),
    )


def remap(store: Store, name: str, original: Path, *, key: str) -> dict[str, Any] | None:
    """The mapping screen of a stored upload, when it is open; returns the choices to read it again with."""
    if not st.session_state.get(f"map_{key}_is_open"):
        return None
    sample = file_sample(original, name) if original.is_file() else None
    if sample is None:
        st.info("This file is no table with a header, so there are no columns to map.")
        return None
    screen = _Screen(key, name, sample, saved_mapping(store.workspace, sample.header))
    _form(screen)
    taken: dict[str, Any] | None = st.session_state.pop(screen.state("taken"), None)
    if taken:
        st.session_state[screen.state("is_open")] = False
    return taken


def _toggle(name: str) -> None:
    st.session_state[name] = not st.session_state.get(name, False)


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b}" if at.year == datetime.now().year else f"{at.day} {at:%b %Y}"


def _choices(columns: dict[str, str], zone: str | None, run: str, host: str) -> dict[str, Any]:
    made = {"format": FORMAT, "columns": columns, "timezone": zone, "run": run, "host": host}
    return {name: value for name, value in made.items() if value}


@st.fragment
def _form(screen: _Screen) -> None:
    table = screen.table
    st.dataframe(
        [dict(zip(table.header, row, strict=True)) for row in table.rows[:_ROWS]],
        hide_index=True,
        key=screen.state("rows"),
        alt=f"First rows of {screen.name} as they stand in the file",
    )
    with st.container(horizontal=True):
        target = _target(screen)
        zone = _zone(screen, target) if target is not None else None
    if target is None:
        st.info("Choose what one row of this table is: then its columns can be mapped.")
        return
    columns = _columns(screen, target, _initial(screen, target), zone)
    columns |= _counted(screen, target, columns) | _fixed(screen, target, columns)
    run, host = _who(screen, target, columns)
    _finish(screen, target, _choices(columns, zone, run, host))


def _finish(screen: _Screen, target: Target, choices: dict[str, Any]) -> None:
    """The result, and the way to have it: read the file, or take the mapping along for the command line."""
    ready = _result(screen, target, choices)
    with st.container(horizontal=True):
        if st.button(
            "Read it with this mapping",
            key=screen.state("read"),
            icon=":material/play_arrow:",
            type="primary",
            disabled=not ready,
        ):
            st.session_state[screen.state("taken")] = choices
            st.rerun()
        kept = {name: choices[name] for name in ("columns", "timezone") if choices.get(name)}
        st.download_button(
            "Mapping as JSON",
            lambda: json.dumps(kept, indent=1, ensure_ascii=False).encode("utf-8"),
            file_name="mapping.json",
            mime="application/json",
            key=screen.state("json"),
            icon=":material/download:",
            on_click="ignore",
            disabled=not ready,
        )


def _target(screen: _Screen) -> Target | None:
    """What one row is: as last time, else what the header can only mean, else a person's own choice."""
    names = list(targets())
    found = guess(screen.table)
    before = make_plan(screen.saved.columns).target if screen.saved else found.target if found.sure else None
    picked = st.selectbox(
        "One row is",
        names,
        index=names.index(before.name) if before is not None else None,
        format_func=lambda name: targets()[name].title,
        placeholder="Choose: the header does not tell",
        key=screen.state("target"),
    )
    return targets()[picked] if picked else None


def _initial(screen: _Screen, target: Target) -> dict[str, Meaning]:
    """What the columns seem to be: as last time, else by their names."""
    if screen.saved and make_plan(screen.saved.columns).target.name == target.name:
        chosen: Mapping[str, str] = screen.saved.columns
    else:
        chosen = as_choice(guess(screen.table, target.name))
    return {column: parse_meaning(text, column) for column, text in chosen.items()}


def _columns(
    screen: _Screen, target: Target, initial: Mapping[str, Meaning], zone: str | None
) -> dict[str, str]:
    header = [c for c in screen.table.header if c != ROW_NUMBER and not c.startswith(FIXED)]
    first = [c for i, c in enumerate(header) if i < _FIRST_COLUMNS or c in initial]
    rest = [c for c in header if c not in first]
    chosen: dict[str, str] = {}
    for column in first:
        chosen |= _column(screen, target, column, initial.get(column), zone)
    if rest and st.toggle(f"Show {len(rest)} more columns", key=screen.state("rest", target.name)):
        for column in rest:
            chosen |= _column(screen, target, column, None, zone)
    return chosen


def _zone(screen: _Screen, target: Target) -> str | None:
    if not any(field.unit == "UTC" for field in target.fields):
        return None
    before = screen.saved.timezone if screen.saved else None
    zones = ["", *actions.zones(before)]
    picked = st.selectbox(
        "Time zone of stamps without one",
        zones,
        index=1 if before else 0,
        format_func=lambda zone: zone or "not known: take them as UTC",
        key=screen.state("zone"),
    )
    return picked or None


def _column(
    screen: _Screen, target: Target, column: str, before: Meaning | None, zone: str | None
) -> dict[str, str]:
    """One column: its name and first cells, what it becomes, in which unit, and what that gives."""
    place = screen.table.header.index(column)
    own = (target.name, place)
    with st.container(border=True, key=screen.state("row", *own), gap="xsmall"):
        name, becomes, unit, more = st.columns([5, 8, 4, 4], vertical_alignment="center")
        cells = [cell for cell in screen.table.cells(column) if cell][:3]
        name.markdown(f"**{md_escape(column)}**  \n:gray[{md_escape(', '.join(cells)) or 'empty'}]")
        field = _field(screen, target, column, before, becomes)
        if field is None:
            return {}
        same = before if before is not None and before.field.id == field.id else None
        with unit:
            picked_unit = _unit(screen, column, field, same, own)
        with more:
            options = _options(screen, column, field, same, own)
        text = Meaning(field, picked_unit, options).text()
        summary = summary_of(screen.table, column, text, zone)
        lines = [f":gray[{md_escape(in_words(summary, text))}]"]
        lines += [f":orange[:material/warning: {md_escape(doubt)}]" for doubt in summary.doubts]
        st.markdown("  \n".join(lines))
    return {column: text}


def _field(screen: _Screen, target: Target, column: str, before: Meaning | None, place: Any) -> Field | None:
    ids = [_NOT_USED, *(field.id for field in target.fields)]
    unused = "raw metric, if it holds numbers" if target.name == "steps" else "not used"
    labels = {field.id: _label(target, field) for field in target.fields}
    picked = place.selectbox(
        f"{column} becomes",
        ids,
        index=ids.index(before.field.id) if before is not None else 0,
        format_func=lambda one: labels.get(one, unused),
        label_visibility="collapsed",
        key=screen.state("to", target.name, screen.table.header.index(column)),
    )
    return target.field_of(picked)


def _label(target: Target, field: Field) -> str:
    if field.table == target.name:
        return f"{field.name}: {field.what}"
    return f"phase {field.name}" if field.table == "step_phases" else "evaluation: score at this step"


def _unit(
    screen: _Screen, column: str, field: Field, before: Meaning | None, own: tuple[str, int]
) -> str | None:
    if not field.units:
        return None
    told = before.unit if before is not None else unit_of(field, column, screen.table.cells(column))
    index = field.units.index(told) if told in field.units else 0
    return st.selectbox(
        f"Unit of {column}",
        field.units,
        index=index,
        label_visibility="collapsed",
        key=screen.state("unit", *own, field.id),
    )


def _options(
    screen: _Screen, column: str, field: Field, before: Meaning | None, own: tuple[str, int]
) -> dict[str, str]:
    if field.bases:
        said = before.basis if before is not None else ""
        picked = st.selectbox(
            f"{column} is counted",
            field.bases,
            index=field.bases.index(said) if said in field.bases else 0,
            format_func=_BASIS.__getitem__,
            label_visibility="collapsed",
            key=screen.state("basis", *own, field.id),
        )
        return {"basis": picked} if picked != "step" else {}
    if field.id == "evals.score" and own[0] == "steps":
        said = before.options.get(BENCHMARK, column) if before is not None else column
        text = st.text_input(
            f"Benchmark of {column}",
            said,
            label_visibility="collapsed",
            max_chars=100,
            key=screen.state("benchmark", *own),
        )
        return {BENCHMARK: text.replace("|", "/").strip() or column}
    return {}


def _counted(screen: _Screen, target: Target, columns: Mapping[str, str]) -> dict[str, str]:
    if target.name != "steps" or any(text.split("|")[0] == "steps.step" for text in columns.values()):
        return {}
    numbered = st.checkbox("No column counts the steps: number the rows", key=screen.state("count"))
    return {ROW_NUMBER: "steps.step"} if numbered else {}


def _fixed(screen: _Screen, target: Target, columns: Mapping[str, str]) -> dict[str, str]:
    """Fields that no column gives and that one text may give to all rows."""
    given = {text.split("|")[0] for text in columns.values()}
    free = [name for name in target.fixed if f"{target.name}.{name}" not in given]
    if not free:
        return {}
    before = screen.saved.columns.items() if screen.saved else ()
    found: dict[str, str] = {}
    with st.container(horizontal=True):
        for name in free:
            said = next((c[1:] for c, t in before if c[:1] == FIXED and t == f"{target.name}.{name}"), "")
            text = st.text_input(
                f"{name.capitalize()} of all rows", said, max_chars=200, key=screen.state("fixed", name)
            ).strip()
            if text:
                found[f"{FIXED}{text}"] = f"{target.name}.{name}"
    return found


def _who(screen: _Screen, target: Target, columns: Mapping[str, str]) -> tuple[str, str]:
    """Run and host, where no column names them."""
    given = {text.split("|")[0] for text in columns.values()}
    run = host = ""
    with st.container(horizontal=True):
        if f"{target.name}.run" not in given:
            named = "after the file" if target.name in ("steps", "step_phases") else "not named"
            run = st.text_input("Run", key=screen.state("run"), max_chars=200, placeholder=named)
        if target.name == "gpu_samples" and "gpu_samples.host" not in given:
            host = st.text_input("Host", key=screen.state("host"), max_chars=200, placeholder="not known")
    return run.strip(), host.strip()


def _result(screen: _Screen, target: Target, choices: dict[str, Any]) -> bool:
    """Show what would be stored; whether it may be read."""
    ids = [text.split("|")[0] for text in choices.get("columns", {}).values()]
    lacking = missing_fields(target, ids)
    if lacking:
        wanted = "; ".join(" or ".join(group[:4]) for group in lacking)
        st.info(f"Still needed for {target.title}: {wanted}.")
        return False
    result = preview(screen.name, screen.table.to_dict(), choices)
    if result.error:
        st.warning(md_escape(result.error))
        return False
    st.markdown(
        f"**What this gives**: {result.stored} of the first {result.records} rows"
        + (f", and {len(result.raw)} raw metrics" if result.raw else "")
    )
    for name, frame in result.tables.items():
        st.caption(name.replace("_", " "))
        st.dataframe(
            frame, hide_index=True, key=screen.state("result", name), alt=f"First converted rows of {name}"
        )
    for reason, n in result.aside:
        st.caption(f":orange[:material/warning:] {n} rows would be set aside: {md_escape(reason)}")
    for text in result.warnings:
        st.caption(f":orange[:material/warning:] {md_escape(text)}")
    return result.stored > 0
