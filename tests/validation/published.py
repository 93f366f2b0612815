"""Published rows that ship with the catalogue, and the three-term fit of decode points."""

import csv
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import nnls

from data.catalogue import FOLDER, load_catalogue
from data.shapes import llm_of, machine_of
from models.decode import DecodeFactors, DecodeLoad, decode_step, prefill_tokens_per_step
from models.machine import Rates

Floats = npt.NDArray[np.float64]
CATALOGUE = load_catalogue()
WEIGHT_BYTES = {"fp8": 1.0, "fp4": 9 / 16}
UNIT = DecodeFactors(eta_bandwidth=1.0, eta_flops=1.0, eta_prefill=1.0, eta_link=0.7, layer_s=1.0)


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a shipped table of published measurements; skips the test where it is not there."""
    path = FOLDER / "published" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} does not ship here")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Points:
    """Seconds a token of one model on one platform and what the three terms say at efficiency 1."""

    terms: Floats
    links_s: Floats
    measured_s: Floats


def decode_points(model: str, platform: str, precision: str, computed: str = "", **same: str) -> Points:
    """Points at a fixed concurrency on one engine; `computed`: precision of the matrices, if another.

    `same`: columns that must hold exactly this text.
    """
    found = [
        row
        for row in rows("decode")
        if (row["model_id"], row["platform_id"], row["precision"]) == (model, platform, precision)
        and row["load_kind"] == "fixed_concurrency"
        and row["out_tok_s_kind"] == "derived_from_latency"
        and row["tp"]
        and all(row[column] == value for column, value in same.items())
    ]
    load = DecodeLoad(
        batch=_column(found, "concurrency"),
        context=_column(found, "isl") + _column(found, "osl") / 2,
        gpus=_column(found, "tp") * _column(found, "attn_dp") * _column(found, "pp"),
        weight_bytes=WEIGHT_BYTES[precision],
        kv_bytes=1.0,
        attention_tp=_column(found, "tp"),
        prompt_tokens=_column(found, "isl"),
        prefill_tokens=prefill_tokens_per_step(
            _column(found, "concurrency"), _column(found, "isl"), _column(found, "osl")
        ),
    )
    rates = Rates.of(machine_of(CATALOGUE, platform), computed or precision)
    step = decode_step(llm_of(CATALOGUE, model), load, rates, UNIT)
    shape = (len(found),)
    terms = [np.broadcast_to(part, shape) for part in (step.memory_s, step.constant_s, step.prefill_s)]
    return Points(
        np.stack(terms, axis=1), np.broadcast_to(step.link_s, shape), _column(found, "tpot_ms") / 1e3
    )


def fitted(points: Points) -> Floats:
    """1/eta of bandwidth, seconds a layer, 1/eta of prefill: least absolute relative error, none below 0."""
    scale, wanted = 1 / points.measured_s, points.measured_s - points.links_s
    for _ in range(40):
        factors: Floats = nnls(points.terms * scale[:, None], wanted * scale)[0]
        off = np.abs(points.terms @ factors - wanted) / points.measured_s
        scale = 1 / points.measured_s / np.sqrt(np.maximum(off, 1e-3))
    return factors


def errors(points: Points, factors: Floats) -> Floats:
    """Predicted / measured - 1 of every point."""
    off: Floats = (points.terms @ factors + points.links_s) / points.measured_s - 1
    return off


def _column(found: list[dict[str, str]], name: str) -> Floats:
    return np.array([float(row[name] or 1) for row in found])
