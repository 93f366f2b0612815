"""The worked examples of docs/campaigns.md and docs/energy.md are what the code says."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.campaigns import CampaignsParams
from analysis.campaigns import compute as campaigns
from analysis.energy import EnergyParams
from analysis.energy import compute as energy
from analysis.sharing import LINE_WORDS
from data.catalogue import load_catalogue
from data.tables import types
from models.cents import to_cents
from models.energy import MAX_GPU_W, WRAP_GAP_S, WRAP_J
from models.sharing import METHODS, share_out
from tests.analysis.conftest import pool, steps

DOCS = Path(__file__).parents[2] / "docs"
START = datetime(2026, 3, 31)


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def lines_of(text):
    """Rows of all tables by first cell; dollars and thousands as numbers."""
    out = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1:
            out[cells[0]] = cells[1:]
    return out


def usd(cells):
    return [float(cell.strip("$").replace(",", "")) for cell in cells]


def of_kind(result, kind):
    lost = result.tables["lost"]
    return lost[lost["kind"] == kind]


@pytest.fixture
def example(empty_home):
    home = empty_home
    home.add("runs", {"run": "a", "campaign": "math", "synthetic": False})
    plan = ((1, 0, 12, 1.0, 9, "failed"), (2, 13, 25, 13.5, 10, "completed"))
    for attempt, begin, end, first, count, status in plan:
        window = {"started_at": START + timedelta(hours=begin), "ended_at": START + timedelta(hours=end)}
        back = {"resumed_from_step": 6, "resumed_from_attempt": 1} if attempt == 2 else {}
        home.add("attempts", {"run": "a", "attempt": attempt, "status": status, **window, **back})
        home.add("allocations", pool("a", attempt, "all", "colocated", "h100-sxm", 43200, gpus=8))
        offset = 0 if attempt == 1 else 6
        rows = steps("a", attempt, range(offset + 1, offset + count + 1), 3600.0)
        ends = [{"ts": START + timedelta(hours=first + n)} for n in range(1, count + 1)]
        home.add("steps", *({**row, **at} for row, at in zip(rows, ends, strict=True)))
    return home


def test_campaigns_md(example):
    """8 GPUs at the $2.00 of the tiny price book."""
    doc = lines_of(page("campaigns.md"))
    months = [campaigns(example.view(), CampaignsParams(period=p)) for p in ("2026-03", "2026-04")]
    both = campaigns(example.view(), CampaignsParams(period="all"))
    named = {"start-up": "start_up", "since the checkpoint": "since_checkpoint", "hold": "after_last_step"}
    for words, kind in named.items():
        lost = of_kind(both, kind).set_index("attempt")["usd"]
        got = [float(lost.get(n, 0.0)) for n in (1, 2)]
        got += [float(of_kind(m, kind)["usd"].sum()) for m in months]
        assert usd(doc[words]) == pytest.approx(got), words
    assert usd(doc["paid"])[2:] == [m.figure("spend_full").value for m in months]
    assert usd(doc["failed"])[2:] == [m.figure("spend_failed").value for m in months]
    assert usd(doc["compute"])[2:] == [m.figure("spend_compute").value for m in months]
    assert sum(usd(doc["compute"])[:2]) == both.figure("spend_compute").value
    bridge = months[0].tables["lost_bridge"].set_index("part")["usd"].to_dict()
    assert bridge == {"lineage": 64.0, "around": 16.0, "clock": 32.0, "nothing": 112.0}
    assert all(f"${amount:.2f}" in page("campaigns.md") for amount in bridge.values())
    wait = of_kind(both, "requeue")["wall_h"]
    assert f"waited {wait.iloc[0]:.1f} h" in page("campaigns.md")
    assert all(f"`{method}`" in doc for method in METHODS)
    text = page("campaigns.md").lower().replace("\n", " ")
    assert all(words.lower().split(",")[0] in text for words in LINE_WORDS.values())


def test_the_shared_storage_of_campaigns_md():
    text = page("campaigns.md").splitlines()[-1]
    whole, math, agents = (Decimal(n.replace(",", "")) for n in re.findall(r"\$([\d,.]+\d)", text))
    used = {"math": 2016.0, "agents": 2880.0}
    parts = share_out(whole, "gpu_hours", list(used), used=used).parts
    assert to_cents(list(parts.values()), whole) == [math, agents]
    assert all(f"({hours:,.0f})" in text for hours in used.values())


def test_energy_md(empty_home, tmp_path):
    home = empty_home
    home.add("runs", {"run": "a", "synthetic": False})
    window = {"started_at": START, "ended_at": START + timedelta(hours=10), "status": "completed"}
    home.add("attempts", {"run": "a", "attempt": 1, **window})
    home.add("allocations", pool("a", 1, "all", "colocated", "h100-sxm", 36000, gpus=8))
    kinds = {"VARCHAR": pa.string(), "TIMESTAMP": pa.timestamp("us"), "DOUBLE": pa.float64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in types("gpu_samples").items()])
    rows = []
    for gpu in range(6):
        home.add("gpus", {"gpu_id": f"g{gpu}", "run": "a", "platform": "h100-sxm"})
        for hour in (0, 10):
            row = dict.fromkeys(schema.names) | {"gpu_id": f"g{gpu}", "dt_s": 0.0}
            rows.append(row | {"ts": START + timedelta(hours=hour), "energy_j": hour * 1.8e6})
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "p.parquet")
    ids = [f"g{gpu}" for gpu in range(6)]
    home.add("gpu_parts", {"part_id": "p", "file": "p.parquet", "rows": 12, "gpu_ids": ids})
    view = home.view()
    object.__setattr__(view, "parts", tmp_path)
    given = {"grid_kg_per_kwh": 0.4, "usd_per_kwh": 0.10}
    result = energy(view, EnergyParams(**given))
    run = result.tables["runs"].iloc[0]
    parts = result.tables["parts"].set_index("basis")
    at_meter = energy(view, EnergyParams(at_meter=True)).tables["runs"].iloc[0]
    told = {key.split(",")[0]: cells[0] for key, cells in lines_of(page("energy.md")).items()}
    want = {
        "measured counter": run["kwh_counter"], "platform figure": run["kwh_platform"],
        "at the GPU": run["kwh_gpu"],
        "hosts of the measured hours": parts.loc["measured counter", "kwh_host"],
        "at the meter": run["kwh_facility"], "low bound": run["kwh_low"], "high bound": run["kwh_high"],
        "with `at_meter`": at_meter["kwh_facility"],
    }  # fmt: skip
    assert {key: told[key] for key in want} == {key: f"{value:.2f}" for key, value in want.items()}
    text = page("energy.md").replace("\n", " ")
    assert f"that is {run['kgco2e']:.2f} kg" in text and f"a kWh ${run['usd_energy']:.2f}" in text
    pue = load_catalogue().tco_default("pue")
    assert f"PUE is {pue.value:g} (range {pue.low:g}" in text and f"to {pue.high:g}" in text
    assert f"({WRAP_J / 3.6e6:.3f} kWh)" in text and f"{MAX_GPU_W:,.0f} W" in text
    assert f"at most {WRAP_GAP_S:g} s apart" in text
