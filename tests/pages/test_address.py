"""A hostile or hand-made address: notice, control and address agree, whatever kind the control is."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from data.store import Store
from tests.examples import in_turn

App = Callable[..., AppTest]


def long(*case: Any) -> Any:
    """A case on a page that is dear to draw: the same rule through one more page."""
    return pytest.param(*case, marks=pytest.mark.full)


def said(at: AppTest) -> str:
    return " ".join(w.value.replace("\\", "") for w in at.warning)


def control(at: AppTest, key: str) -> Any:
    found = [w for kind in ("button_group", "selectbox", "multiselect") for w in at.get(kind) if w.key == key]
    assert len(found) == 1
    return found[0].value


@pytest.mark.parametrize(
    "page", ["overview.py", long("utilisation.py"), long("rollouts.py"), long("generations.py")]
)
def test_an_empty_boundary_is_named_and_the_default_shown(app: App, example: Store, page: str) -> None:
    at = app(page, boundary="")
    assert not at.exception
    assert "an empty cost boundary" in said(at) and "'campaign'" in said(at)
    assert control(at, "boundary") == "campaign"
    assert "boundary" not in at.query_params


@pytest.mark.parametrize(
    "asked", in_turn([["full", "compute"], ["compute", "full"], ["bogus", "compute"]], turn=2)
)
def test_a_repeated_boundary_ends_as_one(app: App, asked: list[str]) -> None:
    at = app(boundary=asked)
    assert not at.exception
    assert control(at, "boundary") == asked[-1]
    assert f"showing '{asked[-1]}'" in said(at)
    assert at.query_params["boundary"] == asked[-1]


PAGE_CONTROLS = [
    ("intelligence.py", "in_after", ["Best checkpoint", "Last checkpoint"]),
    long("intelligence.py", "in_after", ["Last checkpoint", "Best checkpoint"]),
    ("utilisation.py", "ut_measure", ["GPU utilisation (NVML)", "GFX activity (AMD)"]),
    long("generations.py", "gen_mode", ["synchronous", "asynchronous"]),
    long("hardware.py", "hw_kind", ["list", "spot"]),
    long("utilisation.py", "ut_run", ["gb200-sync", "gb200-async"]),
]
"""One page for each kind of control: choices side by side, and a list."""


@pytest.mark.parametrize(("page", "param", "asked"), PAGE_CONTROLS)
def test_a_repeated_choice_of_a_page_ends_as_one(
    app: App, example: Store, page: str, param: str, asked: list[str]
) -> None:
    plain = app(page, **{param: asked[-1]})
    at = app(page, **{param: asked})
    assert not at.exception
    assert f"showing '{asked[-1]}'" in said(at)
    assert control(at, param) == control(plain, param)
    assert at.query_params.get(param) == plain.query_params.get(param)


def test_repeated_and_unknown_runs_leave_the_ones_that_exist(app: App, example: Store) -> None:
    at = app(runs=["h100-sync", "nobody", "h100-sync", ""])
    assert not at.exception
    assert "'nobody'" in said(at) and "'h100-sync' only" in said(at)
    assert control(at, "runs") == ["h100-sync"]
    assert at.query_params["runs"] == "h100-sync"


def test_a_repeated_price_ends_as_one(app: App) -> None:
    second = "on_demand.neocloud"
    at = app(price=["reserved_3y.neocloud", second])
    assert not at.exception
    assert control(at, "price") == second
    assert f"'{second}'" in said(at)
    assert at.query_params["price"] == second


@pytest.mark.parametrize(
    ("asked", "kept", "named"),
    [
        long(["H100 SXM", "B200 HGX"], ["h100-sxm", "b200-hgx"], ""),
        (["h100-sxm"], ["h100-sxm"], ""),
        (["H100 SXM", "nope", "H100 SXM"], ["h100-sxm"], "'nope'"),
    ],
)
def test_platforms_to_compare(app: App, asked: list[str], kept: list[str], named: str) -> None:
    at = app("hardware.py", hw_compare=asked)
    assert not at.exception
    assert control(at, "hw_compare") == kept
    assert (named in said(at)) if named else not at.warning


def test_unknown_platforms_leave_the_usual_ones(app: App) -> None:
    usual = control(app("hardware.py"), "hw_compare")
    at = app("hardware.py", hw_compare=["nope", "nada"])
    assert control(at, "hw_compare") == usual
    assert "'nope' and 'nada'" in said(at)
    assert "hw_compare" not in at.query_params


def test_a_choice_in_the_words_of_its_control_is_no_mistake(app: App) -> None:
    at = app("generations.py", gen_mode="asynchronous")
    assert not at.warning
    assert control(at, "gen_mode") == "async"
