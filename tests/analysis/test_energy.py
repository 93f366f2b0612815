"""Energy of a tiny home: counters, power, figures, bounds, emissions, and what is never mixed."""

import math
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from analysis.energy import EnergyParams, compute
from data.queries import energy as queries
from data.queries.filters import Filters
from data.tables import columns, types
from models.energy import counter_energy
from tests.analysis.conftest import T0, pool

NAMES = columns("gpu_samples")


@pytest.fixture
def sampled(home, tmp_path):
    """`home` with a place for samples: call it with rows (gpu, second, energy_j, power_w) and GPU fields."""

    def add(rows, **gpu):
        held: dict[str, list] = {}
        for name, second, energy, power in rows:
            held.setdefault(name, []).append((second, energy, power))
        out = []
        for name, series in held.items():
            home.add("gpus", {"gpu_id": name, "run": "steady", "platform": "h100-sxm", **gpu})
            for place, (second, energy, power) in enumerate(series):
                gap = series[place + 1][0] - second if place + 1 < len(series) else 0
                row = dict.fromkeys(NAMES) | {"gpu_id": name, "ts": T0 + timedelta(seconds=second)}
                out.append(row | {"dt_s": float(gap), "energy_j": energy, "power_w": power})
        kinds = {"VARCHAR": pa.string(), "TIMESTAMP": pa.timestamp("us"), "DOUBLE": pa.float64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in types("gpu_samples").items()])
        file = f"p{len(list(tmp_path.iterdir()))}.parquet"
        pq.write_table(pa.Table.from_pylist(out, schema=schema), tmp_path / file)
        home.add("gpu_parts", {"part_id": file, "file": file, "rows": len(out), "gpu_ids": sorted(held)})
        for name, series in held.items():
            for place, (second, _, power) in enumerate(series[:-1]):
                gap = float(series[place + 1][0] - second)
                minute = T0 + timedelta(seconds=second)
                if power is not None:
                    row = {"gpu_id": name, "minute": minute, "measure": "power_w", "known_s": gap, "n": 1}
                    home.add(
                        "gpu_minutes", {**row, "weighted_sum": gap * power, "v_min": power, "v_max": power}
                    )

    def view():
        got = home.view()
        object.__setattr__(got, "parts", tmp_path)
        return got

    add.view = view
    return add


def ask(view, **params):
    return compute(view, EnergyParams(runs=("steady",), **params))


def row(result, table="runs"):
    return result.tables[table].iloc[0]


def eight(second, energy, power):
    return [(f"g{gpu}", second, energy, power) for gpu in range(8)]


def full(sampled, watts=500.0, every=3600, hours=10):
    """Eight GPUs at `watts` for all ten hours of the run, by counter."""
    series = [(k * every, 1e6 + k * every * watts) for k in range(hours * 3600 // every + 1)]
    sampled([(f"g{gpu}", at, energy, None) for gpu in range(8) for at, energy in series])


def test_without_samples_the_figure_of_the_platform_stands_in_and_says_so(home):
    got = row(ask(home.view()))
    assert got["basis"] == "platform figure" and got["coverage_frac"] == 0
    assert got["kwh_gpu"] == pytest.approx(80 * 0.7) and got["kwh_gpu_low"] == 0
    assert got["kwh_facility"] == pytest.approx(80 * 1.37 * 1.2)
    assert got["kwh_facility_high"] == pytest.approx(80 * 1.37 * 1.58)
    at_meter = row(ask(home.view(), at_meter=True))
    assert at_meter["kwh_facility"] == at_meter["kwh_facility_high"] == pytest.approx(80 * 1.73)


def test_a_counter_over_the_whole_run_is_all_there_is(sampled):
    full(sampled)
    got = row(ask(sampled.view(), pue=1.25))
    assert got["basis"] == "measured counter" and got["coverage_frac"] == pytest.approx(1)
    assert got["kwh_counter"] == got["kwh_gpu"] == got["kwh_gpu_low"] == pytest.approx(40)
    assert got["kwh_facility"] == pytest.approx((40 + 80 * 0.67) * 1.25)
    assert got["kwh_facility_low"] == pytest.approx(40 * 1.25)


def test_counter_before_power_and_power_where_the_counter_restarted(sampled):
    # 0-3600: +1.8 MJ; 3600-7200: restart, power 400 W; 7200-36000: +14.4 MJ
    rows = [("g0", 0, 5e6, 900.0), ("g0", 3600, 6.8e6, 400.0), ("g0", 7200, 10.0, 900.0)]
    rows += [("g0", 36000, 10.0 + 14.4e6, None)]
    sampled(rows)
    result = ask(sampled.view())
    got = row(result)
    assert got["kwh_counter"] == pytest.approx(16.2e6 / 3.6e6)
    assert got["kwh_power"] == pytest.approx(0.4)
    assert got["gpu_h_measured"] == pytest.approx(10) and got["gpu_h_unsampled"] == pytest.approx(70)
    assert got["kwh_platform"] == pytest.approx(70 * 0.7)
    assert got["basis"] == "measured counter + measured power + platform figure"
    assert {n.code for n in result.warnings} >= {"counter_reset", "energy_unsampled"}
    assert result.tables["parts"]["gpu_h"].sum() == pytest.approx(80)


def test_a_frozen_counter_gives_way_to_power(sampled):
    sampled([("g0", 0, 7.0, 300.0), ("g0", 60, 7.0, 300.0), ("g0", 120, 7.0, None)])
    result = ask(sampled.view())
    assert row(result)["kwh_counter"] == 0
    assert row(result)["kwh_power"] == pytest.approx(300 * 120 / 3.6e6)
    assert "counter_frozen" in {n.code for n in result.warnings}


def test_sql_counts_as_the_reference_does(sampled):
    ts = [0, 30, 60, 90, 150, 180, 240]
    energy = [4294960.0, None, 4294966.0, 9000.0, 14000.0, 10.0, 1e12]
    sampled([("g0", at, e, None) for at, e in zip(ts, energy, strict=True)])
    reference = counter_energy(ts, [math.nan if e is None else e for e in energy])
    view = sampled.view()
    got = queries.measured(view, Filters(("steady",)), ("g0",))
    assert got["joules"].sum() == pytest.approx(reference.joules)
    assert got["seconds"].sum() == pytest.approx(reference.counted_s)
    sampled([("g1", at, e, None) for at, e in zip(ts[:-1], energy[:-1], strict=True)])
    told = queries.restarts(sampled.view(), Filters(("steady",)), ("g1",))
    assert list(told["how"]) == ["wrapped", "reset"]
    assert counter_energy(ts[:-1], [math.nan if e is None else e for e in energy[:-1]]).resets == 1


def test_a_span_over_the_end_of_an_attempt_is_split_by_time(sampled):
    # the run ends after 36000 s, the counter was read next at 72000 s
    sampled([("g0", 0, 0.0, None), ("g0", 72000, 7.2e6, None)])
    assert row(ask(sampled.view()))["kwh_counter"] == pytest.approx(1.0)


def test_doubling_what_was_measured_doubles_it_and_two_uploads_are_one(sampled, home):
    full(sampled)
    one = row(ask(sampled.view(), pue=1.0))["kwh_gpu"]
    home.con.execute("DELETE FROM gpu_parts")
    home.con.execute("DELETE FROM gpus")
    full(sampled, watts=1000.0)
    assert row(ask(sampled.view(), pue=1.0))["kwh_gpu"] == pytest.approx(2 * one)
    home.con.execute("DELETE FROM gpu_parts")
    home.con.execute("DELETE FROM gpus")
    full(sampled)
    halves = home.con.execute("SELECT part_id, file, rows, gpu_ids FROM gpu_parts").fetchall()
    home.con.execute("DELETE FROM gpu_parts")
    (part, file, rows, ids) = halves[0]
    for name, mine in (("a", ids[:4]), ("b", ids[4:])):
        home.add("gpu_parts", {"part_id": part + name, "file": file, "rows": rows, "gpu_ids": mine})
    assert row(ask(sampled.view(), pue=1.0))["kwh_gpu"] == pytest.approx(one)


def test_emissions_and_dollars_need_their_own_numbers(home):
    result = ask(home.view())
    assert result.figure("emissions").value is None
    assert "no number is assumed" in result.figure("emissions").missing
    assert result.figure("energy_usd").value is None
    given = ask(home.view(), grid_kg_per_kwh=0.4, usd_per_kwh=0.10, scope="gpu")
    assert given.figure("emissions").value == pytest.approx(80 * 0.7 * 0.4)
    assert given.figure("emissions_per_step").value == pytest.approx(80 * 0.7 * 0.4 / 300)
    assert given.figure("energy_per_rollout").value == pytest.approx(80 * 0.7 / (300 * 64))
    assert given.figure("energy_usd").value == pytest.approx(80 * 1.37 * 1.2 * 0.10)
    assert row(given)["usd"] == pytest.approx(160)  # rent, without energy
    said = {a.name: a.status for a in given.assumptions}
    assert said["Grid intensity"] == "user" and said["gpu_tdp_w of h100-sxm"] == "vendor_spec"


def test_emissions_and_dollars_say_on_which_scope_they_stand(home):
    """80 GPU-hours at 0.7 kW are 56 kWh; at the meter 80 x 1.37 x 1.2 = 131.52. Dollars are paid there."""
    given = ask(home.view(), grid_kg_per_kwh=0.4, usd_per_kwh=0.10, scope="gpu")
    assert "22.4 kgCO2e at 0.4 kg a kWh at the GPU, 52.6 at the meter." in given.answer
    assert "at the GPU" in given.figure("emissions").label
    assert "at the meter" in given.figure("energy_usd").label
    assert ask(home.view(), grid_kg_per_kwh=0.4).answer.endswith("52.6 kgCO2e at 0.4 kg a kWh at the meter.")


def test_what_the_energy_rests_on_names_no_rest_where_there_is_none(home, sampled):
    assert "none of the GPUs' part is measured" in ask(home.view()).answer
    full(sampled)
    text = ask(sampled.view()).answer
    assert "all of the GPUs' part is measured" in text and "the rest" not in text


def test_compute_counts_the_surviving_lineage_alone(home):
    whole = compute(home.view(), EnergyParams(runs=("broken",), scope="gpu"))
    kept = compute(home.view(), EnergyParams(runs=("broken",), scope="gpu", boundary="compute"))
    assert row(whole)["kwh_gpu"] == pytest.approx(12 * 1.0)
    assert row(kept)["kwh_gpu"] == pytest.approx((4 * 2 / 3 + 8) * 1.0)
    assert "compute boundary" in kept.figure("energy_gpu").label


def test_runs_add_up_to_campaigns_and_each_says_its_team(home):
    home.con.execute("UPDATE campaigns SET team = 'maths'")
    result = compute(home.view(), EnergyParams(scope="gpu"))
    runs, campaign = result.tables["runs"], row(result, "campaigns")
    assert campaign["kwh_gpu"] == pytest.approx(runs["kwh_gpu"].sum())
    assert (campaign["team"], campaign["shipped_checkpoint"]) == ("maths", "steady@300")


def test_a_platform_without_figures_has_no_energy_rather_than_another_number(home):
    home.con.execute("UPDATE allocations SET platform = 'trainium2' WHERE run = 'steady'")
    result = ask(home.view(), scope="gpu")
    assert math.isnan(row(result)["kwh_gpu"]) and row(result)["kwh_gpu_low"] == 0
    assert result.figure("energy_gpu").value is None and result.figure("energy_gpu").missing


def test_what_the_scheduler_measured_stands_beside_and_its_no_value_is_none(home, sampled):
    full(sampled)
    home.add(
        "scheduler_jobs",
        {"job_id": "1", "cluster": "", "run": "steady", "energy_j": 216e6},
        {"job_id": "2", "cluster": "", "run": "steady", "energy_j": 4294967294.0},
        {"job_id": "3", "cluster": "", "run": "steady", "energy_j": 0.0},
    )
    got = row(ask(sampled.view()), "scheduler")
    assert (got["jobs"], got["kwh_scheduler"]) == (1, pytest.approx(60))
    assert got["ratio"] == pytest.approx(1.5)


def test_energy_of_gpus_without_a_run_is_said_and_not_added(sampled):
    sampled([("x0", 0, 0.0, None), ("x0", 3600, 3.6e6, None)], run=None)
    result = compute(sampled.view(), EnergyParams())
    assert "energy_without_run" in {n.code for n in result.warnings}
    assert result.tables["runs"]["kwh_counter"].sum() == 0


def test_a_pue_below_one_is_refused():
    with pytest.raises(ValidationError):
        EnergyParams(pue=0.9)


def test_gpus_of_a_node_belong_to_the_one_job_on_it(sampled, home):
    """Node n1 counts 1 kW a GPU for 10 h; the job of `steady` held it from hour 2 on, shared for one hour."""
    sampled([("n1:0", k * 3600, k * 3.6e6, None) for k in range(11)], run=None, host="n1")
    hours = {"node_list": "n[1-2]", "cluster": ""}
    for job, run, begin, end in (("1", "steady", 2, 8), ("2", None, 6, 7)):
        window = {"started_at": T0 + timedelta(hours=begin), "ended_at": T0 + timedelta(hours=end)}
        home.add("scheduler_jobs", {"job_id": job, "run": run, **window, **hours})
    result = compute(sampled.view(), EnergyParams())
    runs = result.tables["runs"].set_index("run")
    assert runs.loc["steady", "kwh_counter"] == pytest.approx(5.0)
    loose = next(n for n in result.warnings if n.code == "energy_without_run")
    assert loose.text.startswith("5.00 kWh")
    assert row(ask(sampled.view()))["kwh_counter"] == pytest.approx(5.0)


def test_an_answer_that_is_mostly_a_published_figure_calls_itself_an_estimate(home, sampled):
    assert "used an estimated" in ask(home.view()).answer
    full(sampled)
    assert "used an estimated" not in ask(sampled.view()).answer


def test_a_month_has_the_energy_of_its_part_of_a_run(sampled, home):
    """GPU g draws 1 kW by its counter from 22:00 on the last day of March for 6 h: 2 kWh and 4 kWh."""
    start = datetime(2026, 3, 31, 22)
    home.add("runs", {"run": "late", "campaign": "math", "synthetic": False})
    window = {"started_at": start, "ended_at": start + timedelta(hours=6), "elapsed_s": 6 * 3600.0}
    home.add(
        "attempts", {"run": "late", "attempt": 1, "status": "completed", "elapsed_basis": "clock", **window}
    )
    home.add("allocations", pool("late", 1, "all", "colocated", "h100-sxm", 6 * 3600, gpus=1))
    begin = (start - T0).total_seconds()
    sampled([("g", begin + 3600 * n, 3.6e6 * n, None) for n in range(7)], run="late")

    view = sampled.view()

    def late(**params):
        found = compute(view, EnergyParams(runs=("late",), **params))
        return found.tables["runs"].set_index("run").loc["late"]

    march, april, whole = late(period="2026-03"), late(period="2026-04"), late()
    assert [r["kwh_gpu"] for r in (march, april, whole)] == [pytest.approx(n) for n in (2, 4, 6)]
    assert [r["gpu_h"] for r in (march, april, whole)] == [pytest.approx(n) for n in (2, 4, 6)]
    assert march["usd"] + april["usd"] == pytest.approx(whole["usd"])
    for name in ("kwh", "kwh_low", "kwh_high"):
        assert march[name] + april[name] == pytest.approx(whole[name])
    assert math.isnan(march["kwh_per_step"]) and march["coverage_frac"] == 1
    other = compute(view, EnergyParams(period="2026-03"))
    assert {"late", "steady"} <= set(other.tables["runs"]["run"])
    assert any(n.code == "month_of_runs" for n in other.warnings)
    empty = compute(view, EnergyParams(period="2025-01"))
    assert not empty.headline or empty.tables["runs"].empty
