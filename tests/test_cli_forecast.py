"""`cli.py forecast`: keep one, list it, score it, and what is refused."""

import json
from pathlib import Path

import pytest

import cli

PLAN = json.dumps({"months": 2, "plan": ["swe 2020-01..2099-12 480 usd=3"]})


def said(home: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["forecast", *words, "--home", str(home)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_keep_list_and_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan alone: 480 GPU-hours a day at $3, two months of 28 to 31 days."""
    assert "No forecast is kept" in said(tmp_path, capsys, "list")[1]
    code, told, _ = said(tmp_path, capsys, "keep", "--params", PLAN, "--note", "the plan", "--json")
    (one,) = json.loads(told)["forecasts"]
    assert code == 0 and (one["id"], one["note"], len(one["months"])) == (1, "the plan", 2)
    assert 59 * 1440 <= one["usd_p50"] <= 62 * 1440 and one["usd_p50"] % 1440 == pytest.approx(0)
    assert "the plan" in said(tmp_path, capsys, "list")[1]
    code, _, told = said(tmp_path, capsys, "keep", "--params", PLAN, "--note", "pressed twice")
    assert code == 1 and "kept already, as forecast 1" in told
    assert "1 forecast kept, and none of their months is over" in said(tmp_path, capsys, "score")[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["keep"], "There is nothing to keep"),
        (["keep", "--params", '{"plan": ["swe"]}'], "names no campaign"),
        (["keep", "--params", '{"moths": 2}'], "'moths' is no parameter of forecast"),
        (["score", "--note", "x"], "'score' takes no inputs"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    code, _, error = said(tmp_path, capsys, *words)
    assert code == 1 and told in error
