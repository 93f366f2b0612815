"""docs/phase-models.md, section on calibration and projection: its constants are those of the code."""

import re

from models.calibration import MOST_OVERLAP
from models.decode import LAYER_S, DecodeFactors
from models.engine_fit import APART
from models.projection import FLOOR_FRAC
from models.rollout_split import PREFILL_PRIOR, UNKNOWN_TAIL
from tests.docs_pages import DOCS

PAGE = (DOCS / "phase-models.md").read_text(encoding="utf-8")
SECTION = " ".join(PAGE.partition("## Calibration and projection")[2].partition("\n## ")[0].split())


def test_constants_of_the_page() -> None:
    assert f"held at {LAYER_S[1] * 1e6:.0f} us" in SECTION
    assert f"solved at eta {DecodeFactors().eta_bandwidth:.2f}" in SECTION
    assert APART == 2 and "a factor of two apart" in SECTION
    assert f"{UNKNOWN_TAIL[0]:.0%}".rstrip("%") + f" to {UNKNOWN_TAIL[2]:.0%}".replace("%", " %") in SECTION
    dense, moe = PREFILL_PRIOR["dense"][1], PREFILL_PRIOR["moe"][1]
    assert f"({dense:.2f} dense, {moe:.2f} experts)" in SECTION
    assert f"more than {MOST_OVERLAP} steps" in SECTION
    low, high = (int(share) for share in re.findall(r"-(\d+) % / \+(\d+) %", SECTION)[0])
    assert low == round(100 * FLOOR_FRAC) and high == round(100 * (1 / (1 - FLOOR_FRAC) - 1))
