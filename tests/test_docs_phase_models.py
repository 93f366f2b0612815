"""docs/phase-models.md: errors, constants and the worked example are those of the code."""

import re

import numpy as np
import pytest

from models.decode import LAYER_S, USABLE_HBM
from models.lengths import lengths_of_quantiles
from models.prefill import CHUNK_TOKENS
from models.rollout import RolloutLoad, rollout_closed_form
from tests.docs_pages import DOCS
from tests.validation.published import decode_points, errors, fitted

PAGE = " ".join((DOCS / "phase-models.md").read_text(encoding="utf-8").split())
REST = r"\| (\d+) % \| (\d+) % \|"
PLATFORMS = ("h100-sxm", "h200-sxm", "b200-hgx")


def percent(off: np.ndarray) -> float:
    return float(100 * np.median(np.abs(off)))


def test_the_table_of_errors() -> None:
    points = {name: decode_points("llama-3.1-70b", name, "fp8") for name in PLATFORMS}
    for name, known in points.items():
        factors = fitted(known)
        share = np.median(known.measured_s / known.terms[:, 0])
        for other, target in points.items():
            if other != name:
                one = share * target.terms[:, 0] / target.measured_s - 1
                row = re.search(
                    rf"\| {name} \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) ms \| (\d+) % \| {other} {REST}", PAGE
                )
                assert row is not None, (name, other)
                said = [float(cell) for cell in row.groups()]
                exact = [len(known.measured_s), 1 / factors[0], 80e3 * factors[1]]
                assert said[:3] == pytest.approx(exact, rel=0.01)
                shares = [percent(errors(known, factors)), percent(errors(target, factors)), percent(one)]
                assert said[3:] == pytest.approx(shares, abs=0.6)


def test_the_constants() -> None:
    assert f"c0 ({1e6 * LAYER_S[0]:.0f} to {1e6 * LAYER_S[2]:.0f} us a layer)" in PAGE
    assert f"a chunk of {CHUNK_TOKENS:,.0f} tokens" in PAGE
    assert f"({USABLE_HBM} x capacity - weights)" in PAGE


def test_the_tail() -> None:
    lengths = lengths_of_quantiles({0.5: 2000, 0.95: 8000, 1.0: 16384})
    one, eight = (
        rollout_closed_form(lengths, RolloutLoad(n, 256, 0.0, r), lambda batch, _: 0.010 + 4e-5 * batch)
        for n, r in ((256, 1), (32, 8))
    )
    assert f"Work {one.work_s:.1f} s, tail {one.tail_s:.1f} s." in PAGE
    assert f"work {eight.work_s:.1f} s, tail {eight.tail_s:.1f} s." in PAGE
    assert f"{100 * (1 - eight.total_s / one.total_s):.0f} % less time" in PAGE
