"""Platform generations: a run on other platforms, its levers in the address, claims, published runs below."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from data.ingest import ingest_file
from data.run_details import PoolDetails, current_details, save_details
from data.store import Store
from pages.parts import generation_address
from tests.samples import verl_log

App = Callable[..., AppTest]
RUBIN = {"pr_run": "h100-sync", "pr_on": "Vera Rubin NVL72"}


def opened(app: App, **query: str | list[str]) -> AppTest:
    """The page as a link opens it."""
    at = app("generations.py", **query)
    assert not at.exception
    return at


def texts(at: AppTest) -> str:
    parts = [m.value for kind in ("markdown", "caption", "error") for m in at.get(kind)]
    return "\n".join(parts).replace("\\", "")


def said(at: AppTest) -> str:
    return " ".join(w.value.replace("\\", "") for w in at.warning)


def frames(at: AppTest, column: str) -> Any:
    """The table on screen that has this column."""
    return next(d.value for d in at.dataframe if column in d.value.columns)


def test_the_example_is_projected_beside_published_runs(seen: App) -> None:
    at = opened(seen, pr_run="h100-sync")
    assert "h100-sync takes" in texts(at) and "would" in texts(at)
    rows = frames(at, "gpus_same_cycle")
    assert set(rows["kind"]) == {"measured", "projected"}
    assert (rows["kind"] == "measured").sum() == 1
    assert "published pairs" in texts(at), "the section of published runs is there"
    assert not any("step_s_with" in d.value.columns for d in at.dataframe), "no claim is on"
    assert [s.value for s in at.subheader] == ["Published runs"]
    assert "backtest" in [one.proto.page for one in at.get("page_link")]


@pytest.mark.full
def test_another_platform_and_a_second_one_for_training(seen: App) -> None:
    alone = frames(opened(seen, **RUBIN), "gpus_same_cycle")
    assert list(alone["platform"])[1:] == ["Vera Rubin NVL72"]
    both = frames(opened(seen, **RUBIN, pr_train="GB200 NVL72"), "gpus_same_cycle")
    assert list(both["platform"])[1:] == ["Vera Rubin NVL72", "Vera Rubin NVL72 + GB200 NVL72"]


@pytest.mark.parametrize(
    ("usd", "verdict"), [pytest.param("0.05", "pays", marks=pytest.mark.full), ("900", "does not pay")]
)
def test_a_quote_decides(app: App, example: Store, usd: str, verdict: str) -> None:
    at = opened(app, **RUBIN, **{"pr_q_vera-rubin-nvl72": usd})
    rows = frames(at, "quote_usd_per_gpu_h")
    mine = rows[rows["quote_usd_per_gpu_h"] == float(usd)]
    assert list(mine["verdict"]) == [verdict]
    assert float(mine["usd_per_gpu_h_low"].iloc[0]) < float(mine["usd_per_gpu_h_high"].iloc[0])


def test_a_claim_says_what_is_left_of_it(app: App, example: Store) -> None:
    """Its phases take a part of the step, so ten times cheaper tokens leave far less than that."""
    query = {**RUBIN, "pr_q_vera-rubin-nvl72": "5", "pr_c_rubin-token-cost-10x": "true"}
    at = opened(app, **query)
    row = frames(at, "step_s_with").iloc[0]
    assert row["badge"] == "vendor claim" and row["applies"]
    assert row["step_s_with"] < row["step_s_without"]
    assert 1 < row["left_after"] < 1 / (1 - row["phase_frac"] / 100) + 0.01
    assert "of the whole" in texts(at)
    milder = frames(opened(app, **query, **{"pr_v_rubin-token-cost-10x": "0.5"}), "step_s_with").iloc[0]
    assert milder["value"] == 0.5
    assert row["step_s_with"] < milder["step_s_with"]


WRONG = {
    "pr_on": "nope",
    "pr_train": "abacus",
    "pr_hold": "breath",
    "pr_gen": "fp2",
    "pr_sgen": "fp3",
    "pr_show": "everything",
    "pr_c_vera-plus-30": "maybe",
}


def test_wrong_values_in_the_address_are_named(app: App, example: Store) -> None:
    at = opened(app, pr_run="h100-sync", **WRONG)
    for param, value in WRONG.items():
        assert f"'{value}'" in said(at)
        assert at.query_params.get(param) != value
    assert "'nobody'" in said(opened(app, pr_run="nobody"))


@pytest.mark.parametrize(
    "usd", ["banana", pytest.param("-3", marks=pytest.mark.full), pytest.param("nan", marks=pytest.mark.full)]
)
def test_a_wrong_quote_in_the_address_is_named(app: App, example: Store, usd: str) -> None:
    at = opened(app, **RUBIN, **{"pr_q_vera-rubin-nvl72": usd})
    assert f"'{usd}'" in said(at) and "price book" in said(at)
    assert at.number_input(key="pr_q_vera-rubin-nvl72").value is None


@pytest.mark.parametrize("text", ["banana", "", "-3", "nan", "inf", "1e400", "100.5"])
def test_what_no_number_field_can_hold_does_not_fit(text: str) -> None:
    assert not generation_address._fits(text, 0, 100)
    assert generation_address._fits("0", 0, 100) and generation_address._fits("1e2", 0, 100)


@pytest.mark.full
def test_repeated_values_end_as_one(app: App, example: Store) -> None:
    at = opened(app, pr_run="h100-sync", pr_on=["Vera Rubin NVL72", "nope", "vera-rubin-nvl72"])
    assert at.query_params["pr_on"] == "Vera Rubin NVL72"
    assert "'nope'" in said(at)
    twice = opened(app, **RUBIN, **{"pr_q_vera-rubin-nvl72": ["3", "4"]})
    assert "2 times" in said(twice)
    assert twice.number_input(key="pr_q_vera-rubin-nvl72").value == 4


@pytest.mark.parametrize(
    ("section", "charts"),
    [
        ("Dollars", 6),
        ("GPUs and rates", 6),
        ("Break-even slope", 5),
        ("What drives it", 5),
        ("Calibration", 4),
    ],
)
def test_every_section_opens_from_the_address(seen: App, section: str, charts: int) -> None:
    at = opened(seen, **RUBIN, pr_show=section)
    assert len(at.get("plotly_chart")) == charts
    assert not at.error


def test_every_factor_says_what_it_rests_on(seen: App) -> None:
    rows = frames(opened(seen, **RUBIN, pr_show="Calibration"), "Identified")
    mfu = rows[rows["Factor"] == "MFU"].iloc[0]
    assert (mfu["Phase"], mfu["Identified"]) == ("Train", "by the run")
    assert 0 < float(mfu["Mean"]) < 1
    prior = rows[rows["Factor"] == "Constant of a layer"].iloc[0]
    assert prior["Identified"] == "no: a prior" and prior["p10 – p90"] == "0.0000700 – 0.0000900"


def test_precision_is_never_changed_silently(seen: App) -> None:
    same = frames(opened(seen, **RUBIN), "gpus_same_cycle")["step_s"].iloc[-1]
    at = opened(seen, **RUBIN, pr_gen="FP4", pr_ttrain="FP4")
    assert "FP4" in texts(at).upper()
    assert frames(at, "gpus_same_cycle")["step_s"].iloc[-1] != same


def test_an_empty_home_offers_the_example_and_shows_published_runs(app: App, store: Store) -> None:
    at = opened(app)
    assert any("example" in str(b.label).lower() for b in at.button)
    assert len(at.get("plotly_chart")) == 2
    assert "Published runs" in [s.value for s in at.subheader]
    assert not at.error


def test_a_run_that_cannot_be_projected_says_what_is_missing_and_where_to_give_it(
    app: App, store: Store
) -> None:
    ingest_file(store, io.BytesIO(verl_log(1, 20, run="mine").encode()), "train.log")
    at = opened(app)
    assert "No run can be projected yet" in texts(at)
    assert "mine" in texts(at)
    assert len(at.get("plotly_chart")) == 2, "published runs are there"
    assert not at.error
    assert [b.label for b in at.button if b.key == "fill_projection"] == ["Fill in run details"]


def test_a_model_that_nobody_named_is_named_on_the_page(app: App, store: Store) -> None:
    """Its phases are timed: only the model is missing, and naming it mends that."""
    head = "run,attempt,step,step_s,tok_prompt,tok_gen,rollouts,groups,len_mean,len_p95,len_max"
    rows = "\n".join(f"mine,1,{n},95,10000,75000,50,5,1500,3300,6000" for n in range(1, 9))
    times = "\n".join(f"mine,1,{n},{p},{s}" for n in range(1, 9) for p, s in (("rollout", 70), ("train", 20)))
    ingest_file(store, io.BytesIO(f"{head}\n{rows}\n".encode()), "steps.csv")
    ingest_file(store, io.BytesIO(f"run,attempt,step,phase,seconds\n{times}\n".encode()), "phases.csv")
    held = PoolDetails(pool="all", role="colocated", platform="h100-sxm", gpus=64)
    save_details(store, current_details(store, "mine").model_copy(update={"pools": (held,)}))
    at = opened(app, pr_run="mine", pr_on="Vera Rubin NVL72")
    assert "The model of mine is not named" in texts(at)
    at.selectbox(key="pr_model").set_value("qwen3-32b")
    next(b for b in at.button if b.label == "Set the model").click()
    at.run()
    assert not at.exception and not at.error
    assert current_details(store, "mine").llm == "qwen3-32b"
    assert "only the whole step" not in texts(at)
    assert "Which estimate is believed" in [one.label for one in at.expander]  # a click away
