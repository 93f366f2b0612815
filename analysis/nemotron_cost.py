"""What a stage of Nemotron 3 Ultra may have cost: published GPUs and steps, assumed minutes and dollars."""

from dataclasses import dataclass

from analysis.nemotron_params import NemotronParams
from analysis.result import Assumption
from data.catalogue import Catalogue
from data.recipes import recipe

STAGE_RECIPES = {("sft", "rlvr"): ("ultra-rlvr-phase1", "ultra-rlvr-phase2")}
"""Published shapes of the way from one stage to another."""
PRICE_ID = "gb200-nvl72-own-tco-neocloud-giant-2026-04"
STEP_RECIPE = "gym-non-swe-step"
NOT_PRINTED = "GPUs and steps of these stages are not published; type what the stages cost"
OTHER = (
    "From the shapes of the model and its GPUs, the documentation of this stage works out 13.7 minutes a "
    "step (p10 to p90: 8.39 to 25.4), about twice the printed seven minutes assumed here: "
    "docs/nemotron-3-ultra.md."
)


@dataclass(frozen=True)
class Bill:
    """USD of the stages, None where `missing` says why; `parts`: (part, value, unit, status, source)."""

    usd: float | None
    parts: tuple[tuple[str, float, str, str, str], ...]
    assumptions: tuple[Assumption, ...]
    missing: str = ""
    note: str = ""


def bill(book: Catalogue, params: NemotronParams) -> Bill:
    """GPUs x steps x minutes / 60 = productive GPU-hours; / goodput = billed; x USD a GPU-hour.

    A typed total takes the place of all of it.
    """
    if params.campaign_usd is not None:
        typed = Assumption("cost of the stages", params.campaign_usd, "usd", "user", "typed", "")
        return Bill(params.campaign_usd, (("total", params.campaign_usd, "usd", "user", "typed"),), (typed,))
    names = STAGE_RECIPES.get((params.before, params.after))
    if names is None:
        return Bill(None, (), (), NOT_PRINTED)
    found = [recipe(book, name) for name in names]
    gpu_steps = sum((r.gpus_total or 0) * (r.steps or 0) for r in found)
    steps, gpus = sum(r.steps or 0 for r in found), found[0].gpus_total or 0
    productive = gpu_steps * params.step_minutes / 60
    billed = productive / params.goodput
    usd = billed * params.usd_per_gpu_h
    printed = f"{found[0].source}; steps are printed as about {steps}"
    minutes = recipe(book, STEP_RECIPE)
    price = book.price_by_id(PRICE_ID)
    as_book = price is not None and price.usd_per_gpu_h == params.usd_per_gpu_h
    source = f"{price.price_id}: {price.source}" if price is not None and as_book else "typed"
    same = params.step_minutes == minutes.step_minutes
    rows = (
        ("GPUs", float(gpus), "GPUs", "published", printed),
        ("steps", float(steps), "steps", "published", printed),
        ("minutes a step", params.step_minutes, "min", "assumed", minutes.source if same else "typed"),
        ("productive GPU-hours", productive, "gpu_h", "derived", "GPUs x steps x minutes / 60"),
        ("goodput", params.goodput, "frac", "assumed", "not published; editable"),
        ("billed GPU-hours", billed, "gpu_h", "derived", "productive / goodput"),
        ("USD a GPU-hour", params.usd_per_gpu_h, "usd_per_gpu_h", "assumed", source),
        ("total", usd, "usd", "assumed", "billed GPU-hours x USD a GPU-hour"),
    )
    told = tuple(
        Assumption(f"{part} of the stage", value, unit, status, where, found[0].source_date)
        for part, value, unit, status, where in rows
        if status in ("assumed", "published") and part != "total"
    )
    return Bill(usd, rows, told, note=OTHER if same else "")
