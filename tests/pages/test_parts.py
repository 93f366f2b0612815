"""Pieces every page shows: harmless CSV, headings with units, warnings that do not repeat themselves."""

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.result import Notice
from charts.palette import run_colours, run_styles
from pages.parts.download import csv_text, safe_cell
from pages.parts.notices import grouped
from pages.parts.sidebar import CHIPS_SHOWN, _chips
from pages.parts.tables import as_shown, in_percent, number_format
from pages.parts.words import column_label, md_escape, value_label


@given(st.text(max_size=30))
def test_no_text_cell_starts_a_formula(text: str) -> None:
    cell = safe_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert cell.removeprefix("'") == text.removeprefix("'")


@given(
    st.lists(st.tuples(st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False)), min_size=1)
)
def test_csv_reads_back_to_the_same_rows_with_full_precision(rows: list[tuple[str, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["run", "usd"])
    back = list(csv.reader(io.StringIO(csv_text(frame), newline="")))
    assert back[0] == ["run", "usd"]
    assert [(safe_cell(r), v) for r, v in rows] == [(r, float(v)) for r, v in back[1:]]


def test_negative_numbers_stay_numbers_and_times_are_utc() -> None:
    frame = pd.DataFrame({"usd": [-1.5], "at": [pd.Timestamp("2026-01-02 03:04:05")], "tags": [["=a", "b"]]})
    assert csv_text(frame).splitlines()[1] == "-1.5,2026-01-02T03:04:05Z,'=a; b"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("elapsed_s", "Elapsed (s)"),
        ("step_s", "Step time (s)"),
        ("usd_per_mtok_low", "USD per million tokens, low"),
        ("platform_id", "Platform"),
        ("gpu_h", "GPU-hours"),
        ("usd", "USD"),
        ("usd_per_rollout", "USD per rollout"),
        ("truncated_frac", "Truncated (%)"),
        ("len_p95", "Length p95"),
    ],
)
def test_headings_carry_units(name: str, label: str) -> None:
    assert column_label(name) == label


def test_three_digits_of_a_typical_value_decide_the_format() -> None:
    assert number_format("usd", pd.Series([41234.5, 38000.0])) == "$%,.0f"
    assert number_format("saved_usd", pd.Series([-0.0002, 0.0004])) == "%,.6f"  # not $-0.0002
    assert number_format("usd_per_rollout", pd.Series([0.0123, 0.02])) == "$%,.4f"
    assert number_format("step_s", pd.Series([1.5, None])) == "%,.2f"
    assert number_format("steps", pd.Series([3, 4])) == "%,.0f"


def test_ratios_are_percent_on_screen_only() -> None:
    frame = pd.DataFrame({"goodput_frac": [0.25]})
    assert as_shown(frame)["goodput_frac"][0] == 25
    assert frame["goodput_frac"][0] == 0.25


def test_equal_warnings_are_said_once_with_their_places() -> None:
    items = (Notice("a", "clock missing", "r1"), Notice("a", "clock missing", "r2"), Notice("b", "other"))
    assert grouped(items) == [("clock missing", ["r1", "r2"]), ("other", [])]


@pytest.mark.parametrize("name", ["*x*", "[a](http://b)", "$1 and $2", "`c`", "<b>", ":red[x]"])
def test_names_are_not_markdown(name: str) -> None:
    escaped = md_escape(name)
    assert all(f"\\{c}" in escaped for c in name if c in "*[]$`<>:")


@pytest.mark.parametrize(
    "name", ["see http://evil.example/a", "HTTPS://b.example", "www.c.example", "a@b.example"]
)
def test_addresses_in_names_do_not_become_links(name: str) -> None:
    shown = md_escape(name).replace("\\", "")
    assert not re.search(r"https?://[-.\w]|www\.|@[-\w]+\.", shown, re.IGNORECASE)
    assert shown.replace("\u200b", "") == name
    assert md_escape("run@20") == "run@20"


def test_a_share_of_dollars_is_no_dollars() -> None:
    assert number_format("share_of_usd_frac", pd.Series([11.0, 54.54])) == "%,.1f"


def test_platforms_have_their_names_in_tables() -> None:
    frame = pd.DataFrame(
        {"platform": ["h100-sxm", None, "my-box"], "platforms": [["h100-sxm"], [], ["my-box"]]}
    )
    shown = as_shown(frame)
    assert list(shown["platform"].dropna()) == ["H100 SXM", "my-box"]
    assert list(shown["platforms"]) == [["H100 SXM"], [], ["my-box"]]
    moves = as_shown(pd.DataFrame({"platforms": ["h100-sxm -> gb200-nvl72", "h100-sxm -> my-box"]}))
    assert list(moves["platforms"]) == ["H100 SXM to GB200 NVL72", "H100 SXM to my-box"]


def test_columns_in_percent_say_so() -> None:
    words = in_percent({"low": "Score, low"}, ["score", "low", "covered_frac"])
    assert words == {"score": "Score (%)", "low": "Score, low (%)", "covered_frac": "Steps with counts (%)"}


def test_a_basis_writes_gpu_as_people_do() -> None:
    assert value_label("basis", "per_gpu: tokens over all GPUs") == "per GPU: tokens over all GPUs"


def test_chips_of_more_runs_than_colours_differ_by_marker() -> None:
    runs = [f"run-{i}" for i in range(14)]
    home = run_colours(runs)
    frame = pd.DataFrame({"run": runs, "campaign": "", "platforms": [[] for _ in runs]})
    marks = re.findall(r"color:(#\w+)'>(.)</span>", _chips(frame, run_styles(runs, colours=home)))
    assert len(marks) == len(runs) or len(marks) == CHIPS_SHOWN
    assert len(set(marks)) == len(marks)
    assert len({colour for colour, _ in marks}) < len(marks)
