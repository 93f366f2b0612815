"""verl's file logger: JSON objects, whole, cut, glued or spread over lines."""

import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.readers.base import Choices
from tests.data.verl_files import jsonl, raw_values, read_jsonl, values
from tests.examples import some


def test_facts_by_hand(tmp_path: Path) -> None:
    batch = read_jsonl(jsonl({s: values(s) for s in (1, 2, 3)}), tmp_path)
    facts = batch.facts
    assert (facts["format"], facts["records"], facts["run_names"]) == ("verl_file_logger_jsonl", 3, "trial")
    assert facts["step_seconds_sum"] == 60.0
    assert facts["unattributed_seconds"] == pytest.approx(6.0)
    assert facts["gpu_count_inferred"] == 16.0
    assert facts["gpu_hours"] == pytest.approx(16 * 60 / 3600)
    assert facts["memory_peak_bytes"] == 43 * 2**30
    assert facts["gpus"] is None
    assert facts["run_seconds"] is None
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"], attempt["status"]) == (
        60.0,
        "step_sum",
        "unknown",
    )


def test_a_line_may_hold_several_objects_and_an_object_several_lines(tmp_path: Path) -> None:
    one, two, three = ({"step": s, "data": values(s)} for s in (1, 2, 3))
    text = json.dumps(one) + json.dumps(two) + "\n\n" + json.dumps(three, indent=2) + "\n"
    batch = read_jsonl(text, tmp_path)
    assert (batch.records, batch.stored, batch.facts["steps_count"]) == (3, 3, 3)
    assert raw_values(batch)[1, 3, "timing_s/gen"] == 10.0


def test_damaged_lines_are_set_aside_with_their_line(tmp_path: Path) -> None:
    good = jsonl({1: values(1)}), jsonl({4: values(4)})
    text = (
        good[0]
        + '{"step": 2, "data": {"timing_s/st\n'
        + '{"event": "saved"}\n{"step": "x", "data": {}}\nplain text\n'
        + good[1]
    )
    batch = read_jsonl(text, tmp_path)
    assert (batch.records, batch.stored) == (6, 2)
    assert sorted(item.line for item in batch.set_aside) == [2, 3, 4, 5]
    assert list(batch.tables["steps"]["step"]) == [1, 4]


def test_missing_values_are_missing_not_zero(tmp_path: Path) -> None:
    odd = {
        **values(1),
        "critic/score/mean": math.nan,
        "critic/values/mean": math.inf,
        "note": None,
        "perf/mfu/actor": "N/A",
    }
    batch = read_jsonl(jsonl({1: odd}), tmp_path)
    assert batch.facts["missing_cells"] == 4
    assert not {"critic/score/mean", "critic/values/mean", "note", "perf/mfu/actor"} & {
        k for _, _, k in raw_values(batch)
    }
    assert batch.facts["mfu_mean"] is None


def test_nested_and_textual_values(tmp_path: Path) -> None:
    text = (
        json.dumps(
            {"step": 1, "data": {**values(1), "extra": {"deep": 2, "list": [1]}, "tag": "warm", "flag": True}}
        )
        + "\n"
    )
    batch = read_jsonl(text, tmp_path)
    raw = raw_values(batch)
    assert (raw[1, 1, "extra/deep"], raw[1, 1, "flag"]) == (2.0, 1.0)
    assert {item.column for item in batch.set_aside} == {"extra/list", "tag"}


def test_a_restart_that_appends_opens_an_attempt(tmp_path: Path) -> None:
    text = jsonl({s: values(s) for s in (1, 2, 3)}) + jsonl({s: values(s, step_s=25.0) for s in (3, 4)})
    batch = read_jsonl(text, tmp_path)
    attempts = batch.tables["attempts"]
    assert list(attempts["status"]) == ["failed", "unknown"]
    assert attempts["resumed_from_step"].fillna(0).tolist() == [0, 2]
    assert batch.facts["step_seconds_sum"] == 110.0


def test_a_file_that_starts_late_says_so(tmp_path: Path) -> None:
    batch = read_jsonl(jsonl({40: values(40)}), tmp_path)
    assert batch.tables["attempts"].iloc[0]["resumed_from_step"] is None
    assert any("first step is 40" in text for text in batch.warnings)


@pytest.mark.parametrize(
    "text", ['{"loss": 1.0, "lr": 0.1}\n', "{}\n", '{"step": 1}\n', "words\n", '{"step": 1, "da']
)
def test_no_step_no_batch(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No object of the form"):
        read_jsonl(text, tmp_path)


def test_a_file_cut_at_any_byte_never_tells_a_wrong_number(tmp_path: Path) -> None:
    text = jsonl({s: values(s, step_s=20.0 + s / 7) for s in (1, 2)})
    truth = raw_values(read_jsonl(text, tmp_path))
    first = text.index("\n") + 1
    for cut in [*range(first, len(text), 97), *range(len(text) - 4, len(text))]:
        batch = read_jsonl(text[:cut], tmp_path)
        found = raw_values(batch)
        assert all(truth[key] == value for key, value in found.items())
        whole = cut >= len(text) - 1
        assert batch.facts["steps_count"] == (2 if whole else 1)
        assert batch.facts["partial_last_line"] == int(first < cut < len(text) - 1)
        assert batch.set_aside == []


_KEY = st.text(alphabet='abc/_@:-{}" \\é', min_size=1, max_size=12)
_VALUE = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**9), 10**9), st.booleans(), st.none()
)


@settings(max_examples=some(10), deadline=None)
@given(st.dictionaries(_KEY, _VALUE, min_size=1, max_size=8))
def test_a_written_dict_comes_back(data: dict[str, float | bool | None]) -> None:
    finite = {k: float(v) for k, v in data.items() if v is not None and math.isfinite(v)}
    text = jsonl({1: {"timing_s/step": 1.0}}) + json.dumps({"step": 2, "data": data}) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        batch = read_jsonl(text, Path(folder))
    assert {k: v for (_, step, k), v in raw_values(batch).items() if step == 2} == finite
    assert batch.records == 2
    assert batch.stored == (2 if finite else 1)


_GOOD = st.builds(
    lambda s, g: jsonl({s: values(s, step_s=20.0 + g)}).strip(), st.integers(0, 6), st.integers(0, 2)
)
_BAD = st.one_of(
    st.builds(lambda text, cut: text[:cut], _GOOD, st.integers(1, 60)),
    st.sampled_from(
        ["{", "}", "[1]", '{"step": 1}', '"text"', "{}{}", '{"step": 1.5, "data": {"a": 1}}', "\x1b[0m"]
    ),
)


@settings(max_examples=some(14), deadline=None)
@given(st.lists(st.one_of(_GOOD, _BAD), max_size=10), st.booleans())
def test_every_record_is_accounted_for(lines: list[str], closed: bool) -> None:
    text = "\n".join([jsonl({1: values(1)}).strip(), *lines]) + ("\n" if closed else "")
    with tempfile.TemporaryDirectory() as folder:
        batch = read_jsonl(text, Path(folder), Choices(run="r"))
    whole = sum(item.column is None for item in batch.set_aside)
    assert batch.records == batch.stored + whole + sum(batch.ignored.values())
    assert not batch.tables["steps"].duplicated(["run", "attempt", "step"]).any()


def test_a_negative_timer_is_set_aside(tmp_path: Path) -> None:
    batch = read_jsonl(jsonl({1: values(1), 2: {**values(2), "timing_s/gen": -4.0}}), tmp_path)
    assert [(one.line, one.column, one.reason) for one in batch.set_aside] == [
        (2, "timing_s/gen", "negative")
    ]
    phases = batch.tables["step_phases"]
    assert phases.loc[phases["source_key"] == "timing_s/gen", "step"].tolist() == [1]
