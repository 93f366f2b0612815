"""A cadence on the page: racks by platform, the probability by GPUs, and what is behind the hours."""

from dataclasses import replace
from typing import Any

import streamlit as st

from analysis.cadence_params import CadenceParams
from analysis.frames import records
from analysis.result import Result
from charts import capacity as charts
from charts.theme import Mode
from charts.tornado import tornado
from data.catalogue import Catalogue
from data.queries import frame as frame_queries
from data.queries.known import runs_by_arrival
from pages.parts import capacity_controls as controls
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_other
from pages.parts.pictures import picture
from pages.parts.plan_fields import Known, defaults_of
from pages.parts.state import PageState
from pages.parts.tables import show_table
from pages.parts.words import status_label

SAVES = ("checkpoint_steps", "interval_s", "goodput_frac", "chosen", "best")
ANSWER = "the fleet of the answer"
BEHIND = ("Cycle time", "What moves it", "Hours by part", "If it grows", "Failures", "Programmes")
PLATFORMS = (
    "platform", "racks", "fleet_gpus", "p_finish", "cycle_h", "cycle_h_low", "cycle_h_high", "usd_per_cycle",
    "usd_per_year", "slack_h", "kwh_per_cycle", "goodput_frac", "usd_per_cycle_low", "usd_per_cycle_high",
    "gpus", "spare_gpus", "usd_per_gpu_h", "step_s", "kind", "missing",
)  # fmt: skip
INPUTS = ("label", "value", "low", "high", "unit", "status", "source", "date", "note")
LABELS = {
    "label": "What",
    "value": "Value",
    "low": "Low",
    "high": "High",
    "unit": "Unit",
    "status": "Badge",
    "source": "Source",
    "date": "Date",
    "note": "Note",
    "platform": "Platform",
    "target": "Platform",
    "gpus": "GPUs at work",
    "spare_gpus": "Spare GPUs",
    "fleet_gpus": "GPUs in all",
    "racks": "Racks (–: none)",
    "p_finish": "Draws in time",
    "cycle_h": "Cycle, p50 (h)",
    "cycle_h_low": "Cycle, p10 (h)",
    "cycle_h_high": "Cycle, p90 (h)",
    "slack_h": "Slack, p50 (h)",
    "usd_per_cycle": "USD a cycle",
    "usd_per_cycle_low": "USD a cycle, low",
    "usd_per_cycle_high": "USD a cycle, high",
    "usd_per_year": "USD a year",
    "kwh_per_cycle": "kWh a cycle",
    "goodput_frac": "Goodput (%)",
    "usd_per_gpu_h": "USD a GPU-hour",
    "step_s": "Step (s)",
    "kind": "Step is",
    "missing": "Why not",
    "times": "Length (x)",
    "gpus_needed": "GPUs needed then (–: no fleet is sure enough)",
    "racks_needed": "Racks needed then",
    "campaign": "Campaign",
    "length_times": "Length (x today)",
    "tool_s": "Tools (s a step)",
    "evals": "Evaluations",
    "frac": "Share of the cycle (%)",
    "by_h": "Due after (h)",
    "regime": "Source of the rate",
    "per_gpu_h": "Failures a GPU-hour",
    "job_mtti_h": "Hours between failures of the job",
    "low_mtti_h": "Low (h)",
    "high_mtti_h": "High (h)",
    "checkpoint_steps": "Steps between checkpoints",
    "interval_s": "Interval (s)",
    "chosen": "As asked",
    "best": "Best",
    "name": "Programme",
    "priority": "Priority",
    "start_h": "Starts after (h)",
    "finish_h": "Done after (h)",
    "part": "Part",
    "hours": "Hours",
}


def asked_of(state: PageState) -> dict[str, Any]:
    """Draw the inputs; returns the parameters of the question."""
    with state.view() as view:
        catalogue = view.catalogue
        names = _platforms(catalogue)
        known = frame_queries.runs(view).set_index("run")["platforms"]
        runs = [run for run in state.common.runs or runs_by_arrival(view) if run in known.index]
    return controls.cadence_inputs(runs, names, catalogue, _defaults())


def _platforms(catalogue: Catalogue) -> dict[str, str]:
    return {p.platform_id: p.name for p in catalogue.platforms() if p.kind in ("gpu", "tpu")}


def _defaults() -> dict[str, Known]:
    """What counts while a field is empty; its source is what an answer to no input assumes."""
    plain = compute_or_stop("cadence")
    known = defaults_of(plain, CadenceParams().model_dump(), controls.ALL, controls.ASSUMED)
    return known | controls.WHEN_EMPTY


def show(result: Result, mode: Mode) -> None:
    """Draw the probability by GPUs, and the section that is picked behind it."""
    show_chart(picture(charts.probability, result, mode), key="capacity_probability")
    show_other(result)
    section = segments("ca_show", "Behind it", BEHIND, BEHIND[0], str)
    if section == "Cycle time":
        show_chart(picture(charts.cycle_band, result, mode, _looked_at(result)), key="capacity_cycle")
    elif section == "What moves it":
        show_chart(picture(tornado, result, mode), key="capacity_tornado")
    elif section == "Hours by part":
        show_chart(picture(charts.parts, result, mode), key="capacity_parts")
        show_table(result, "campaigns", title="Campaigns of a cycle", labels=LABELS, percent=("frac",))
    elif section == "If it grows":
        show_table(_named(result), "length", title="If responses grow, on the same fleet", labels=LABELS,
                   percent=("p_finish",))  # fmt: skip
    elif section == "Failures":
        show_table(result, "failures", title="How often a job of this size fails", labels=LABELS)
        show_chart(picture(charts.saves, result, mode), key="capacity_saves")
        show_table(result, "checkpoint", title="Checkpoint period", labels=LABELS, columns=SAVES)
    else:
        show_table(
            result, "programmes", title="Programmes on the fleet", labels=LABELS, percent=("p_finish",)
        )


def _looked_at(result: Result) -> str:
    frame = result.tables["curve"]
    names = {str(r["target"]): str(r["platform"]) for r in records(frame)} if not frame.empty else {}
    if len(names) < 2:
        return next(iter(names), "")
    return dropdown("ca_close", "Closer look at", ["", *names], "", lambda t: names.get(t, ANSWER))


def show_tables(result: Result) -> None:
    """Draw the smallest fleet of each platform."""
    show_table(result, "platforms", title="The fleet on each platform", columns=PLATFORMS, labels=LABELS,
               percent=("p_finish",),
               optional=("missing", "spare_gpus", "fleet_gpus", "racks"))  # fmt: skip
    shown = result.tables["settings"]
    if shown.empty:
        return
    with st.expander("More tables", icon=":material/table:", key="ca_more"):
        shown = shown.assign(status=[status_label(str(one)) for one in shown["status"]])
        said = replace(result, tables={**result.tables, "settings": shown})
        show_table(said, "settings", title="Every input", columns=INPUTS, labels=LABELS,
                   optional=("date",))  # fmt: skip


def _named(result: Result) -> Result:
    """The tables with platforms by name."""
    frame = result.tables["platforms"]
    names = dict(zip(frame["target"], frame["platform"], strict=True)) if not frame.empty else {}
    tables = {
        name: table.assign(target=[names.get(t, t) for t in table["target"]])
        if "target" in table.columns and "platform" not in table.columns
        else table.drop(columns="target", errors="ignore")
        for name, table in result.tables.items()
    }
    return replace(result, tables=tables)
