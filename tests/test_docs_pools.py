"""docs/pools.md: every figure comes out of the questions on an empty home, or out of the catalogue."""

import re

import pytest

import analysis
from analysis.pools_inputs import SLOWEST_MODE
from analysis.sandboxes_inputs import IMAGES
from analysis.weight_sync_inputs import RERUN
from tests.analysis.conftest import Home
from tests.docs_pages import DOCS

TEXT = (DOCS / "pools.md").read_text(encoding="utf-8")
PAGE = " ".join(TEXT.split())


def rows(heading):
    """Cells of the first table under a heading."""
    text = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return found[2:]


def says(cell, exact):
    """True when the cell is `exact` at the digits it shows."""
    said = cell.replace(",", "").split()[0]
    return f"{exact:.{len(said.partition('.')[2])}f}" == said


@pytest.fixture(scope="module")
def view():
    return Home().view()


def full_book(view):
    """The shipped prices in place of the round ones of the tests."""
    from data.catalogue import load_catalogue

    object.__setattr__(view, "book", load_catalogue())
    return view


def test_modes(view):
    names = {"synchronous": "sync", "one step off": "one_step_off", "asynchronous": "async"}
    tables = {
        age: analysis.run("pools", full_book(view), {"basis": "scratch", "max_staleness": age})
        for age in (1, 4)
    }
    for words, allowed, *cells in rows("Pools"):
        found = tables[max(1, int(allowed))].tables["modes"].set_index("mode").loc[names[words]]
        columns = ("rollout_gpus", "train_gpus", "step_s", "usd_per_step", "steps_for_budget", "age_updates")
        assert all(says(cell, found[name]) for cell, name in zip(cells, columns, strict=False)), (
            words,
            found,
        )
        if cells[-1] != "–":
            assert says(cells[-1], 100 * found["breakeven_extra_steps_frac"])
    band = tables[1].tables["published"]
    spans, side = band["ratio_rollout_train"], band["side_frac"]
    words = (
        f"{len(band)} Nemotron 3 recipes roll out on {spans.min():.2f} to {spans.max():.2f} times the GPUs"
    )
    assert f"{words} they train on (median {spans.median():.2f})" in PAGE
    assert f"put {100 * side.min():.0f} to {100 * side.max():.0f} % of their nodes" in PAGE
    assert SLOWEST_MODE == 1 / 2.6 and "down to 1 / 2.6" in PAGE
    step = next(run for run in view.book.rl_runs() if run.row_id == "P0582")
    told = (step.n_gpus, step.step_time_s, step.gen_s, step.train_s, step.logprob_s, step.refit_s)
    assert told == (64, 147, 84, 28, 18, 14)


def test_the_published_case_and_the_claim(view):
    found = analysis.run("sandboxes", full_book(view), {"basis": "scratch"})
    assert found.figure("sandbox_cores").value == 512 and "is 512 cores: 32 a node on 16 nodes" in PAGE
    cpus = found.tables["cpus"].set_index("cpu")
    table = {cells[0]: cells[1] for cells in rows("Sandboxes")}
    assert table["Vera"].startswith(f"{cpus.loc['vera', 'speedup']:g},") and "Grace" in table
    assert cpus["speedup"].isna().to_dict() == {"x86-reference": False, "grace": True, "vera": False}
    assert f"has {IMAGES:,} to build again" in PAGE


def test_what_a_sync_costs(view):
    for name, *cells in rows("Weight sync"):
        found = analysis.run("weight_sync", full_book(view), {"basis": "scratch", "engine": name})
        (now,) = found.tables["engines"].query("row_id == 'now'").to_dict("records")
        exact = (now["sync_s"], 100 * now["share_frac"], now["usd_per_step"], now["usd_per_day"])
        assert all(says(*pair) for pair in zip(cells, exact, strict=True)), (name, exact)
    assert RERUN == 26 / 14 and "26 / 14 times as long" in PAGE


def test_every_setting_that_the_page_names_exists():
    known = set().union(
        *(analysis.QUESTIONS[q].params.model_fields for q in ("pools", "sandboxes", "weight_sync"))
    )
    words = {"run", "scratch", "pools", "sandboxes", "weight_sync", "rollout", "call", "published", "checked"}
    assert set(re.findall(r"`([a-z_]+)`", TEXT)) <= known | words
