"""Campaigns bear the bill to the cent: failed work, losses, shared costs, and moves that change no total."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import run
from analysis.campaigns import CampaignsParams, cells_of, compute, moved_rows
from analysis.moneyparams import MoneyParams
from analysis.shares import Share, load_shares
from analysis.sharing import apply_rules
from analysis.spend import compute_spend
from data.ingest import ingest_file
from data.money.rules import SharingRule, declare_rule, retire_rule
from data.store import Store
from models.cents import cents, total
from tests import money_month
from tests.analysis.conftest import T0, pool, steps, tiny_book

D = Decimal
PERIOD = (date(2026, 3, 1), date(2026, 4, 1))


def ask(home, **params):
    return compute(home.view(), CampaignsParams(**params))


def dollars(frame, column="usd"):
    return sum((D(str(round(v, 2))) for v in frame[column]), D(0))


def campaign(result, name="math"):
    frame = result.tables["campaigns"]
    return frame[frame["campaign"] == name].iloc[0]


def same_total(result, usd):
    tables = result.tables
    sums = {name: dollars(tables[name]) for name in ("weeks", "teams", "lines")}
    sums["campaigns"] = dollars(tables["campaigns"], "usd_net")
    parts = [c for c in tables["campaigns"] if c.startswith("usd_") and c[4:] in set(tables["lines"]["line"])]
    sums["cells"] = sum((dollars(tables["campaigns"], c) for c in parts), D(0))
    assert set(sums.values()) == {cents(usd)}
    loose = tables["campaigns"]["campaign"] == ""
    assert dollars(tables["unallocated"]) == dollars(tables["campaigns"][loose], "usd_net")


def test_every_table_adds_up_to_the_shares(home):
    result = ask(home)
    same_total(result, load_shares(home.view(), MoneyParams()).usd)
    math = campaign(result)
    assert math["usd_gpus"] == pytest.approx(160 + 36 + 8) and math["usd_failed"] == pytest.approx(12)
    assert math["shipped_checkpoint"] == "steady@300" and math["runs"] == 3
    assert math["usd_compute"] == pytest.approx(math["usd_campaign"] - 4, abs=0.01)


def test_the_three_boundaries_are_those_of_the_ledger(home):
    result = ask(home)
    spend = compute_spend(home.view(), MoneyParams())
    for edge in ("compute", "campaign"):
        assert result.figure(f"spend_{edge}").value == pytest.approx(
            spend.runs[f"usd_{edge}"].sum(), abs=0.01
        )


def test_what_was_lost_after_the_step_that_counts(home):
    """`broken` 1 did 6 steps of 500 s and was resumed from step 4: 1,000 of its 3,600 s for $12."""
    result = ask(home)
    lost = result.tables["lost"].set_index(["run", "attempt", "kind"])
    row = lost.loc[("broken", 1, "since_checkpoint")]
    assert row["usd"] == pytest.approx(3.33) and row["usd_low"] == row["usd"]
    assert row["gpu_h"] == pytest.approx(4 * 1000 / 3600) and row["cause"] == "engine"
    gap = lost.loc[("broken", 1, "requeue")]
    assert (gap["wall_h"], gap["usd"]) == (pytest.approx(1), 0)
    assert "lost_unknown" in {n.code for n in result.warnings}
    for name in ("cause", "kind", "team", "campaign", "week"):
        by = result.tables["lost_by"]
        assert dollars(by[by["dimension"] == name]) == dollars(result.tables["lost"])


def test_start_up_and_holds_by_the_clock_of_the_steps(home):
    """2 H100 for 24 h from 20:00: first step starts after 2 h, the last one ends 4 h before the end."""
    start = datetime(2026, 3, 10, 20)
    home.add("runs", {"run": "slow", "campaign": "math", "synthetic": False})
    window = {"started_at": start, "ended_at": start + timedelta(hours=24)}
    home.add("attempts", {"run": "slow", "attempt": 1, "status": "completed", **window})
    home.add("allocations", pool("slow", 1, "all", "colocated", "h100-sxm", 86400, gpus=2))
    clock = [{"ts": start + timedelta(hours=2 + n)} for n in range(1, 19)]
    rows = [{**s, **c} for s, c in zip(steps("slow", 1, range(1, 19), 3600.0), clock, strict=True)]
    home.add("steps", *rows)
    lost = ask(home).tables["lost"]
    mine = lost[lost["run"] == "slow"].set_index("kind")
    assert mine.loc["start_up", "usd"] == pytest.approx(2 * 2 * 2)
    assert mine.loc["after_last_step", "usd"] == pytest.approx(2 * 2 * 4)


def test_waits_and_holds_are_cut_at_the_month(home):
    """A wait on 31 March is none of April; a start-up from 23:00 to 2:00 is 1 h of March and 2 h of April."""
    home.add("runs", {"run": "over", "campaign": "code", "synthetic": False})
    for attempt, begin, end in ((1, 20, 22), (2, 23, 28), (3, 31, 32)):
        first = datetime(2026, 3, 31)
        at = {"started_at": first + timedelta(hours=begin), "ended_at": first + timedelta(hours=end)}
        home.add("attempts", {"run": "over", "attempt": attempt, "status": "completed", **at})
        home.add(
            "allocations", pool("over", attempt, "all", "colocated", "h100-sxm", 3600 * (end - begin), gpus=1)
        )
        clock = {"ts": first + timedelta(hours=end)}
        home.add("steps", *({**row, **clock} for row in steps("over", attempt, [attempt], 7200.0)))
    found = {}
    for month in ("2026-03", "2026-04", "all"):
        lost = ask(home, period=month).tables["lost"].query("run == 'over'")
        found[month] = {(r.attempt, r.kind): r.wall_h for r in lost.itertuples()}
    march, april, whole = found.values()
    assert march[1, "requeue"] == 1 and (1, "requeue") not in april
    assert april[2, "requeue"] == whole[2, "requeue"] == 3 and (2, "requeue") not in march
    assert [m[2, "start_up"] for m in (march, april, whole)] == [1, 2, 3]


def test_a_cancelled_run_whose_checkpoint_was_used_is_not_lost(home):
    home.add("runs", {"run": "seed", "campaign": "math", "synthetic": False})
    at = {"started_at": T0 + timedelta(hours=40), "ended_at": T0 + timedelta(hours=41)}
    home.add("attempts", {"run": "seed", "attempt": 1, "status": "cancelled", "elapsed_s": 3600.0, **at})
    home.add("allocations", pool("seed", 1, "all", "colocated", "h100-sxm", 3600, gpus=1))
    home.add("steps", *steps("seed", 1, range(1, 11), 360.0))
    home.add("checkpoints", {"checkpoint": "seed@8", "run": "seed", "attempt": 1, "step": 8})

    def lost():
        frame = ask(home).tables["lost"]
        return dollars(frame[frame["run"] == "seed"])

    before = campaign(ask(home))["usd_compute"]
    assert lost() == D("0.40")  # steps 9 and 10 of ten, $2: nothing stands on the rest, but it is saved
    home.add("checkpoints", {"checkpoint": "steady@0", "run": "steady", "step": 0, "parent": "seed@8"})
    assert lost() == D("0.40")
    assert campaign(ask(home))["usd_compute"] == pytest.approx(before + 1.60)
    home.con.execute("UPDATE checkpoints SET parent = NULL")
    home.con.execute("UPDATE campaigns SET shipped_checkpoint = 'seed@10'")
    assert lost() == 0
    spend = compute_spend(home.view(), MoneyParams()).runs.set_index("run")
    assert spend.loc["seed", "lost_usd"] == pytest.approx(0)


def test_adding_a_failed_attempt_raises_the_campaign_by_exactly_its_dollars(home):
    before = campaign(ask(home))
    start = T0 + timedelta(hours=30)
    window = {"started_at": start, "ended_at": start + timedelta(seconds=4321)}
    home.add("attempts", {"run": "steady", "attempt": 2, "status": "failed", "cause": "node", **window})
    home.add("allocations", pool("steady", 2, "all", "colocated", "h100-sxm", 4321, gpus=8))
    after = campaign(ask(home))
    usd = 8 * 4321 / 3600 * 2
    assert after["usd_full"] - before["usd_full"] == pytest.approx(usd, abs=0.011)
    assert after["usd_failed"] - before["usd_failed"] == pytest.approx(usd, abs=0.011)
    assert after["usd_compute"] == pytest.approx(before["usd_compute"], abs=0.011)


def test_doubling_a_price_doubles_the_cost(home):
    before = campaign(ask(home))
    home.book = tiny_book(2.0)
    after = campaign(ask(home))
    for name in ("usd_gpus", "usd_failed"):
        assert after[name] == pytest.approx(2 * before[name], abs=0.01)


def test_a_run_across_two_months_costs_the_same_in_parts(home):
    start = datetime(2026, 3, 31, 17)
    home.add("runs", {"run": "late", "campaign": "code", "synthetic": False})
    window = {"started_at": start, "ended_at": start + timedelta(hours=24)}
    home.add("attempts", {"run": "late", "attempt": 1, "status": "failed", "cause": "nic", **window})
    home.add("allocations", pool("late", 1, "all", "colocated", "h100-sxm", 86400, gpus=3))
    home.add("steps", *steps("late", 1, range(1, 11), 3600.0))
    whole = ask(home, period="all")
    parts = [ask(home, period=month) for month in ("2026-03", "2026-04")]
    assert [campaign(p, "code")["usd_full"] for p in parts] == [pytest.approx(42), pytest.approx(102)]
    assert campaign(whole, "code")["usd_full"] == pytest.approx(144)
    lost = [p.tables["lost"].query("run == 'late'")["usd"].sum() for p in (*parts, whole)]
    assert lost[0] + lost[1] == pytest.approx(lost[2]) and lost[2] == pytest.approx(60)


def share(number, usd, campaign=None, run=None, kind="gpu", day=date(2026, 3, 5), gpu_s=3600.0):
    return Share(
        number, day, kind, "h100-sxm", run, None, None, None, None, campaign, None, "tag",
        gpu_s if kind == "gpu" else None, D(usd),
    )  # fmt: skip


def rule(name, subject, method="equal", targets=("math", "code"), decision=1, **more):
    fixed = {k: D(v) for k, v in more.pop("fixed", {}).items()}
    return SharingRule(name, subject, method, targets, fixed, decision=decision, **more)


SHARES = [
    share(0, "100.00", "shared", "teacher"),
    share(1, "30.00", "math", "m", gpu_s=7200.0),
    share(2, "10.00", "code", "c"),
    share(3, "5.55", kind="storage"),
    share(4, "-1.11", kind="other", day=None),
]


def borne(rules, shares=SHARES):
    got = apply_rules(shares, rules, {"math": "m", "code": "c"}, PERIOD)
    sums = {}
    for line in got.lines:
        sums[line.campaign] = sums.get(line.campaign, D(0)) + line.usd
    return sums, got


def test_a_shared_teacher_is_borne_by_the_campaigns_that_used_gpus():
    sums, got = borne([rule("teacher", {"run": "teacher"}, "gpu_hours")])
    assert sums["math"] == D("30.00") + D("66.666666666667") and sums["code"] == D("43.333333333333")
    assert "shared" not in sums and sum(sums.values()) == D("144.44")
    assert {line.team for line in got.lines if line.rule} == {"m", "c"}


def test_fixed_shares_leave_a_rest_where_it_was():
    sums, got = borne([rule("t", {"campaign": "shared"}, "fixed", fixed={"math": "0.5", "code": "0.2"})])
    assert sums["shared"] == D("30.00") and sums["math"] == D("80.00")
    assert [row["target"] for row in got.moved] == ["math", "code", ""]


def test_rows_of_a_rule_add_up_to_what_it_picked():
    """0.333 twice of 100.01: 33.30333, 33.30333 and a rest of 33.40334, which gets the cent."""
    picked = (share(1, "100.01", kind="storage"),)
    thirds = {"math": D("0.333"), "code": D("0.333")}
    _, got = borne([rule("disks", {"kind": "storage"}, "fixed", fixed=thirds)], picked)
    assert [row["usd"] for row in moved_rows(got)] == [D("33.30"), D("33.30"), D("33.41")]


def test_without_usage_the_money_stays_and_that_is_said():
    sums, got = borne([rule("t", {"run": "teacher"}, "gpu_hours", ("math", "code"))], SHARES[:1])
    assert sums == {"shared": D("100.00")}
    assert [n.code for n in got.notices] == ["rule_without_usage"]


def test_dates_of_a_rule_hold_and_a_charge_without_a_day_is_left():
    early = rule("t", {"run": "teacher"}, end=date(2026, 3, 5))
    assert borne([early])[0]["shared"] == D("100.00")
    assert [n.code for n in borne([early])[1].notices] == ["rule_unmet"]
    other = rule("o", {"kind": "other"}, start=date(2026, 3, 1))
    sums, got = borne([other])
    assert sums[""] == D("4.44") and {n.code for n in got.notices} == {"rule_unmet", "rule_undated"}


def test_no_rule_moves_nothing_and_a_strange_target_is_named():
    sums, got = borne([])
    assert sums == {"shared": D("100.00"), "math": D("30.00"), "code": D("10.00"), "": D("4.44")}
    assert not got.moved and not got.notices
    assert "rule_target_unknown" in {
        n.code for n in borne([rule("t", {"run": "teacher"}, targets=("x",))])[1].notices
    }


def test_the_order_of_rules_does_not_matter_and_the_last_entered_counts():
    rules = [
        rule("a", {"run": "teacher"}, decision=1),
        rule("b", {"campaign": "shared"}, targets=("math",), decision=2),
        rule("c", {"campaign": "math"}, targets=("code",), decision=3),
    ]
    found = [borne(list(order)) for order in permutations(rules)]
    assert all(sums == found[0][0] for sums, _ in found)
    assert found[0][0]["math"] == D("100.00") and found[0][0]["code"] == D("40.00")  # moved money stays put
    assert "rules_overlap" in {n.code for n in found[0][1].notices}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.decimals("-1000", "1000", places=9),
            st.sampled_from([None, "shared", "math", "code"]),
            st.sampled_from(["gpu", "storage"]),
            st.one_of(st.none(), st.dates(date(2026, 3, 1), date(2026, 3, 31))),
        ),
        max_size=25,
    ),
    st.lists(
        st.tuples(
            st.sampled_from([{"campaign": "shared"}, {"kind": "storage"}, {"kind": "gpu"}]),
            st.sampled_from(["equal", "gpu_hours", "fixed"]),
        ),
        max_size=3,
    ),
)
def test_moving_money_never_changes_the_total(rows, rules):
    shares = [share(n, usd, who, kind=kind, day=day) for n, (usd, who, kind, day) in enumerate(rows)]
    declared = [
        rule(str(n), subject, method, decision=n, fixed={"math": "0.3", "code": "0.4"})
        for n, (subject, method) in enumerate(rules)
    ]
    got = apply_rules(shares, declared, {}, PERIOD)
    whole = total([s.usd for s in shares])
    assert total([line.usd for line in got.lines]) == whole
    cells = cells_of(got.lines)
    assert total(list(cells.values())) == cents(whole)
    for bearer in {key[0] for key in cells}:
        exact = total([line.usd for line in got.lines if (line.campaign, line.team) == bearer])
        shown = total([usd for (who, _, _), usd in cells.items() if who == bearer])
        assert abs(exact - shown) < D("0.01")


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """The made-up month without GPU samples; its bill once whole and once as two files."""
    folder = tmp_path_factory.mktemp("month")
    lines = money_month.bill().splitlines(keepends=True)
    texts = {
        "runs.csv": money_month.runs(),
        "steps.csv": money_month.steps(),
        "jobs.txt": money_month.scheduler(),
    }
    texts |= {"bill-2026-03.csv": "".join(lines), "a.csv": "".join(lines[:30])}
    texts["b.csv"] = "".join([lines[0], *lines[30:]])
    for name, content in texts.items():
        (folder / name).write_text(content)
    stores = []
    for place, bills in enumerate((["bill-2026-03.csv"], ["b.csv", "a.csv"])):
        store = Store.open(folder / f"home{place}")
        for name in ("runs.csv", "steps.csv", *bills, "jobs.txt"):
            ingest_file(store, folder / name)
        stores.append(store)
    yield stores
    for store in stores:
        store.close()


def test_a_bill_is_borne_to_the_cent_and_two_uploads_are_one(month):
    found = []
    for store in month:
        with store.view() as view:
            found.append(run("campaigns", view, {"period": "2026-03"}))
            same_total(found[-1], money_month.TRUTH["total"])
    one, two = (f.to_dict() for f in found)
    assert one["tables"] == two["tables"] and one["headline"] == two["headline"]
    assert found[0].figure("spend_failed").value == float(money_month.TRUTH["failed"])
    agents = campaign(found[0], "agents")
    assert D(str(agents["usd_gpus"])) == money_month.GPU_H["swe-agent"] * money_month.RATE
    assert D(str(agents["usd_sandbox"])) == money_month.SANDBOX
    lost = found[0].tables["lost"].set_index(["run", "kind"])["usd"]
    failed = float(money_month.TRUTH["failed"])  # twelve hours of a node, as is the start-up of the other run
    assert lost["swe-agent", "start_up"] == failed and lost["math-v3", "since_checkpoint"] == failed


def test_a_declared_rule_moves_storage_and_undoing_it_moves_it_back(month):
    store = month[0]

    def asked():
        with store.view() as view:
            return run("campaigns", view, {"period": "2026-03"})

    before = asked()
    declare_rule(store, "disks", {"kind": "storage"}, "gpu_hours", ["math", "agents"])
    after = asked()
    same_total(after, money_month.TRUTH["total"])
    mine, others = money_month.GPU_H["math-v3"], money_month.GPU_H["swe-agent"]
    part = float(money_month.STORAGE) * mine / (mine + others)
    assert campaign(after)["usd_storage"] == pytest.approx(part, abs=0.01)
    assert campaign(after)["usd_shared_in"] == campaign(after)["usd_storage"]
    assert list(after.tables["sharing"]["target"]) == ["math", "agents"]
    assert after.versions["money_decisions"] > before.versions["money_decisions"]
    retire_rule(store, "disks")
    declare_rule(store, "thirds", {"kind": "storage"}, "fixed", {"math": "0.333", "agents": "0.333"})
    assert dollars(asked().tables["sharing"]) == cents(money_month.STORAGE)
    retire_rule(store, "thirds")
    assert asked().to_dict()["tables"] == before.to_dict()["tables"]
