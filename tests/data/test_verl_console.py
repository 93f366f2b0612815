"""Console logs of verl: what counts as a record, what the run was, and what the file cannot say."""

import math
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UnreadableFileError, UserError
from data.facts_base import gpu_count
from data.logs.verl import split_tokens
from data.logs.verl_facts import rate_proposal, with_rate
from data.logs.verl_lines import Record, clean, number, parse_step, step_line
from data.readers.base import Choices, Proposal
from data.readers.verl_console import VerlConsoleReader
from tests.data.verl_files import (
    SUMMARY,
    TASK,
    WORKER,
    bar,
    config_lines,
    line,
    log,
    raw_values,
    read_console,
    spooled,
    values,
    whole_run,
)
from tests.examples import some


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", 0.5), ("np.float64(0.5)", 0.5), ("np.float32(1e-05)", 1e-5), ("np.int64(3)", 3.0),
        ("tensor(0.25, device='cuda:0')", 0.25), ("1,024", 1024.0), ("True", 1.0), ("-0.0", 0.0),
    ],
)  # fmt: skip
def test_printed_numbers_are_read(text: str, expected: float) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(
    "text", ["nan", "np.float64(nan)", "inf", "-inf", "None", "N/A", "", "[Not Supported]"]
)
def test_words_for_missing_are_missing(text: str) -> None:
    found = number(text)
    assert found is not None
    assert math.isnan(found)


@pytest.mark.parametrize("text", ["abc", "1.2.3", "12:30", "[1, 2]", "0x"])
def test_other_text_is_no_number(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    "wrapped",
    [
        "step:7 - a:1", f"{TASK}step:7 - a:1", "(TaskRunner pid=1, ip=10.0.0.1) step:7 - a:1",
        "2025-05-22 07:03:31,997 INFO step:7 - a:1",
        "2025-05-22T07:03:31.997Z (main_task pid=3) step:7 - a:1",
        "0: step:7 - a:1", "[pod/train-0/trainer] step:7 - a:1",
        "Training Progress:  2%|#  | 6/99 [00:10<1:00, 11.78s/it](TaskRunner pid=1) step:7 - a:1",
    ],
)  # fmt: skip
def test_wrappers_are_taken_off(wrapped: str) -> None:
    assert step_line(clean(wrapped)) == (7, "a:1")


@pytest.mark.parametrize(
    "text", ["training/global_step:7 - a:1", "x step:7 - a:1", "step:7", "step: 7 - a:1", "saved step:7 - ok"]
)
def test_a_step_inside_a_line_is_no_record(text: str) -> None:
    found = step_line(clean(text))
    assert found is None or found[1] == ""


def test_quirks_of_one_log(tmp_path: Path) -> None:
    two = {**values(2), "perf/mfu/actor": "np.float64(0.0)", "critic/score/mean": "nan"}
    text = log(
        f"{TASK}training/global_step:9 - timing_s/step:5.0",
        line(1, values(1)),
        "\rTraining Progress:  33%|###   | 1/3 [00:25<00:50]\r" + line(2, two) + "\rTraining Progress:  66%|",
        f"{WORKER}[rank-5]: Saving model to /c/global_step_2/actor [repeated 15x across cluster]",
    )
    batch = read_console(text + SUMMARY, tmp_path)
    assert (batch.records, batch.stored, batch.set_aside) == (2, 2, [])
    assert batch.facts["steps_count"] == 2
    assert batch.facts["missing_cells"] == 1
    raw = raw_values(batch)
    assert raw[1, 2, "perf/throughput"] == 20.0
    assert (1, 2, "critic/score/mean") not in raw
    steps = batch.tables["steps"].set_index("step")
    assert steps.loc[1, "mfu_frac"] == 0.375
    assert math.isnan(steps.loc[2, "mfu_frac"])


def test_facts_by_hand(tmp_path: Path) -> None:
    facts = read_console(whole_run(), tmp_path, Choices(timezone="UTC")).facts
    assert facts["step_seconds_sum"] == 60.0
    assert facts["phase_seconds[rollout]"] == 30.0
    assert facts["phase_seconds[train]"] == 15.0
    assert facts["phase_seconds[weight_sync]"] == 3.0
    assert facts["unattributed_seconds"] == pytest.approx(60 - 3 * (10 + 2 + 5 + 1))
    assert facts["phase_seconds[eval]"] is None
    assert facts["tokens_total"] == 3 * 6400
    assert facts["throughput_tokens_per_s"] == 320.0
    assert facts["gpu_count_inferred"] == 16.0
    assert facts["gpu_hours"] == pytest.approx(16 * 60 / 3600)
    assert facts["gpus"] == 16
    assert facts["memory_peak_bytes"] == 43 * 2**30
    assert facts["reward_mean"] == pytest.approx(0.27)
    assert facts["reward_last"] == pytest.approx(0.28)
    assert facts["run_seconds"] == 75.0
    assert facts["rollouts_total"] == 3 * 64
    assert facts["tokens_generated"] is None


def test_configuration_over_wrapped_lines(tmp_path: Path) -> None:
    batch = read_console(whole_run(), tmp_path)
    run = batch.tables["runs"].iloc[0]
    assert (run["run"], run["algorithm"], run["mode"]) == ("trial - 7", "grpo", "sync")
    proposals = {(p.field, p.value) for p in batch.proposals}
    assert {
        ("gpus", 16),
        ("campaign", "spring"),
        ("algorithm", "grpo"),
        ("rollouts_per_step", 64),
    } <= proposals
    assert all(p.how for p in batch.proposals)
    assert any("not logged" in text for text in batch.warnings)


def test_stated_and_inferred_gpus_are_one_proposal(tmp_path: Path) -> None:
    stated = [p for p in read_console(whole_run(), tmp_path).proposals if p.field == "gpus"]
    assert [(p.value, "configuration" in p.how, "token rates say 16" in p.how) for p in stated] == [
        (16, True, True)
    ]
    inferred = [p for p in read_console(log(line(1, values(1))), tmp_path).proposals if p.field == "gpus"]
    assert [(p.value, "median over 1 steps" in p.how) for p in inferred] == [(16, True)]


def test_a_count_that_is_not_whole_is_told_in_three_digits() -> None:
    steps = pd.DataFrame({"tok_total": [7_586.644691802059], "step_s": [10.0], "throughput": [100.0]})
    rate = rate_proposal("r", steps, "sync")
    assert rate is not None and rate.value == pytest.approx(7.586644691802059)
    assert rate.how.endswith("= 7.59 GPUs")
    (told,) = with_rate([Proposal("r", "gpus", 16, "configuration")], rate)
    assert told.how == "configuration; the token rates say 7.59 GPUs"
    assert [gpu_count(n) for n in (1024.0, 1, 104.6, 0.5)] == ["1,024 GPUs", "1 GPU", "105 GPUs", "0.5 GPUs"]


def test_a_growing_log_never_takes_back_what_it_said(tmp_path: Path) -> None:
    text = whole_run(1, 6, 6) + log(f"{TASK}Final validation metrics: x")
    lines = text.split("\n")
    keys = ["attempt", "step"]
    whole = read_console(text, tmp_path).tables["steps"].set_index(keys)
    starts = [i for i, row in enumerate(lines) if "step:1 - " in row]
    for end in range(starts[0] + 1, len(lines)):
        part = read_console("\n".join(lines[:end]) + "\n", tmp_path).tables["steps"].set_index(keys)
        assert set(part.index) <= set(whole.index)
        same = whole.loc[part.index]
        known = part.notna()
        assert (part[known] == same[known]).where(known, True).all().all(), end


def test_overrides_on_the_command_line(tmp_path: Path) -> None:
    command = (
        "+ python3 -m verl.trainer.main_ppo algorithm.adv_estimator=rloo trainer.nnodes=3 "
        "trainer.n_gpus_per_node=4 trainer.experiment_name='tuned'"
    )
    batch = read_console(log(command, line(1, values(1))), tmp_path)
    assert batch.facts["gpus"] == 12
    assert batch.tables["runs"].iloc[0]["algorithm"] == "other"
    assert batch.facts["run_names"] == "tuned"
    assert any("12 GPUs" in text and "16" in text for text in batch.warnings)


def test_a_cut_configuration_is_searched_key_by_key(tmp_path: Path) -> None:
    broken = [row for row in config_lines() if "'algorithm'" not in row and "'project_name'" not in row]
    batch = read_console(log(*broken, line(1, values(1))), tmp_path)
    assert batch.facts["gpus"] == 16
    assert batch.facts["run_names"] == "trial - 7"


def test_the_chosen_run_name_wins(tmp_path: Path) -> None:
    batch = read_console(whole_run(), tmp_path, Choices(run="mine"))
    assert {
        str(r) for name in ("runs", "attempts", "steps", "metric_raw") for r in batch.tables[name]["run"]
    } == {"mine"}


def test_tokens_of_a_step_are_split_only_when_exact(tmp_path: Path) -> None:
    odd = {**values(2), "perf/total_num_tokens": 6401.0}
    turns = {**values(3), "training/num_turns/max": 5.0}
    batch = read_console(log(line(1, values(1)), line(2, odd), line(3, turns)), tmp_path)
    steps = batch.tables["steps"].set_index("step")
    assert (steps.loc[1, "tok_prompt"], steps.loc[1, "tok_gen"], steps.loc[1, "rollouts"]) == (1280, 5120, 64)
    assert math.isnan(steps.loc[2, "tok_gen"])
    assert math.isnan(steps.loc[2, "rollouts"])
    assert math.isnan(steps.loc[3, "tok_gen"])
    assert steps.loc[3, "rollouts"] == 64
    assert "correct" not in steps.columns


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 9000)), min_size=1, max_size=400),
    st.sampled_from([None, 3]),
)
def test_split_tokens_is_right_or_silent(lengths: list[tuple[int, int]], digits: int | None) -> None:
    n = len(lengths)
    prompt, response = sum(p for p, _ in lengths), sum(r for _, r in lengths)
    means = [prompt / n, response / n]
    if digits is not None:
        means = [round(mean, digits) for mean in means]
    found = split_tokens(prompt + response, *means, 0.00051 if digits else 0.0)
    assert found is None or found == (n, prompt, response)
    if digits is None:
        assert found == (n, prompt, response)


def test_sub_timers_are_not_added_and_unknown_ones_stay_raw(tmp_path: Path) -> None:
    text = log(line(1, {**values(1), "timing_s/agent_loop/tool_calls/mean": 3.0, "timing_s/brand_new": 1.0}))
    batch = read_console(text, tmp_path)
    assert set(batch.tables["step_phases"]["source_key"]) == {
        "timing_s/gen", "timing_s/old_log_prob", "timing_s/update_actor", "timing_s/update_weights",
    }  # fmt: skip
    assert "timing_s/brand_new" in batch.unmapped
    assert raw_values(batch)[1, 1, "timing_s/brand_new"] == 1.0


def test_in_async_runs_gen_is_waiting(tmp_path: Path) -> None:
    metrics = {**values(1), "fully_async/trainer/idle_ratio": 0.2, "timing_s/timing_s/param_sync": 0.5}
    batch = read_console(log(line(1, metrics)), tmp_path)
    phases = batch.tables["step_phases"].set_index("source_key")
    assert tuple(phases.loc["timing_s/gen", ["phase", "kind", "pool"]]) == ("rollout", "wait", "train")
    assert tuple(phases.loc["timing_s/timing_s/param_sync", ["phase", "kind"]]) == ("weight_sync", "exposed")
    assert batch.tables["runs"].iloc[0]["mode"] == "async"
    assert "gpus_train" in {p.field for p in batch.proposals}


def test_impossible_numbers_are_set_aside_as_cells(tmp_path: Path) -> None:
    metrics = {**values(1), "perf/mfu/actor": 31.0, "response_length/clip_ratio": -0.5, "custom": "abc"}
    batch = read_console(log(line(1, metrics)), tmp_path)
    assert batch.stored == 1
    assert {cell.column for cell in batch.set_aside} == {
        "perf/mfu/actor",
        "response_length/clip_ratio",
        "custom",
    }
    assert math.isnan(batch.tables["steps"].iloc[0]["mfu_frac"])


def test_three_decimals_do_not_make_a_zero(tmp_path: Path) -> None:
    text = log(*[line(s, values(s), form=".3f") for s in (1, 2)])
    batch = read_console(text, tmp_path)
    assert (1, 1, "actor/lr") not in raw_values(batch)
    assert any("actor/lr" in w for w in batch.warnings)
    exact = read_console(log(*[line(s, values(s)) for s in (1, 2)]), tmp_path)
    assert raw_values(exact)[1, 1, "actor/lr"] == 1e-06


def test_stamps_need_a_zone_to_fix_an_instant(tmp_path: Path) -> None:
    text = log("2025-05-22 07:03:31,500\tINFO job_manager.py:531 -- starting", whole_run())
    floating = read_console(text, tmp_path)
    assert floating.facts["time_first_epoch_s"] is None
    assert any("time zone" in w for w in floating.warnings)
    placed = read_console(text, tmp_path, Choices(timezone="Asia/Shanghai"))
    assert placed.facts["time_first_epoch_s"] == 1747868611.5
    assert str(placed.tables["attempts"].iloc[0]["started_at"]) == "2025-05-21 23:03:31.500000"
    assert placed.timezone == "Asia/Shanghai"
    stated = read_console(text.replace("31,500", "31.500+08:00"), tmp_path)
    assert stated.facts["time_zone"] == "+08:00"
    assert stated.facts["time_first_epoch_s"] == 1747868611.5
    with pytest.raises(UserError, match="no time zone called"):
        read_console(text, tmp_path, Choices(timezone="Mars/Olympus"))


def test_a_log_without_steps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no step line"):
        read_console(log(*config_lines()), tmp_path)


@pytest.mark.parametrize("form", [".3f", "", pytest.param(".17g", marks=pytest.mark.full)])
def test_a_log_cut_at_any_byte_never_tells_a_wrong_number(form: str, tmp_path: Path) -> None:
    rows = [line(s, values(s, step_s=20.0 + s / 7), prefix="", form=form) for s in (1, 2, 3)]
    text = log(*rows)
    truth = raw_values(read_console(text, tmp_path))
    before = len(log(*rows[:2]))
    dropped = 0
    places = [*range(before, len(text) - 24, 41), *range(len(text) - 24, len(text))]
    for cut in places:
        batch = read_console(text[:cut], tmp_path)
        dropped += int(batch.facts["partial_last_line"] == 1)
        assert batch.records == batch.stored
        for key, value in raw_values(batch).items():
            assert value == pytest.approx(truth[key], rel=1e-9, abs=1e-12), (text[:cut][-40:], key)
    assert dropped > 0.8 * len(places)


def test_a_damaged_line_in_the_middle_is_set_aside_with_its_line(tmp_path: Path) -> None:
    rows = [line(1, values(1)), f"{TASK}step:2 - perf/time_per_step:20.0 - timing_s/ge", line(3, values(3))]
    batch = read_console(log(*rows), tmp_path)
    assert (batch.records, batch.stored) == (3, 2)
    assert [(item.line, item.column) for item in batch.set_aside] == [(2, None)]


def test_progress_can_cancel(tmp_path: Path) -> None:
    text = whole_run() + ("x" * 999 + "\n") * 3000
    seen = []

    def stop(stage: str, done: int, total: int | None) -> None:
        seen.append((stage, done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        VerlConsoleReader().read(spooled(text, tmp_path), Choices(), tmp_path, stop)
    (stage, done, total) = seen[0]
    assert (stage, total) == ("read", len(text.encode()))
    assert done < total


_KEYS = st.sampled_from(
    [
        "timing_s/step",
        "timing_s/gen",
        "perf/throughput",
        "critic/rewards/mean",
        "val-core/a b/acc/mean@1",
        "x/y:z",
    ]
)
_FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
_SHOWN = st.sampled_from(["{}", "np.float64({})"])


@settings(deadline=None)
@given(st.dictionaries(_KEYS, _FLOATS, min_size=1), _SHOWN)
def test_a_printed_dict_comes_back(metrics: dict[str, float], shown: str) -> None:
    body = " - ".join(f"{key}:{shown.format(value)}" for key, value in metrics.items())
    found = parse_step(4, body, 1)
    finite = {key: value for key, value in metrics.items() if math.isfinite(value)}
    if not finite:
        assert not isinstance(found, Record)
        return
    assert isinstance(found, Record)
    assert {k: v for k, v in found.values.items() if v == v} == finite
    assert set(found.values) == set(metrics)


_NOISE = st.text(alphabet="abc :-[]{}'\r\x1b|%0123step", max_size=40)
_LINES = st.one_of(
    st.builds(lambda s, g: line(s, values(s, step_s=20.0 + g)), st.integers(0, 6), st.integers(0, 2)),
    st.builds(lambda s, n: line(s, values(s))[: 20 + n], st.integers(0, 6), st.integers(0, 400)),
    st.builds(lambda s: f"{TASK}Setting global step to {s}", st.integers(0, 5)),
    st.builds(lambda s: bar(s, 6, "00:00"), st.integers(0, 5)),
    st.just(SUMMARY),
    _NOISE,
)


@settings(max_examples=some(15), deadline=None)
@given(st.lists(_LINES, max_size=12), st.booleans())
def test_every_record_is_accounted_for(lines: list[str], closed: bool) -> None:
    text = log(line(1, values(1)), *lines)
    text = text if closed else text[:-1]
    with tempfile.TemporaryDirectory() as folder:
        if not closed and not lines:
            with pytest.raises(UnreadableFileError, match="no other record"):
                read_console(text, Path(folder))
            return
        batch = read_console(text, Path(folder))
    whole = sum(item.column is None for item in batch.set_aside)
    assert batch.records == batch.stored + whole + sum(batch.ignored.values())
    assert batch.stored >= 1
    steps = batch.tables["steps"]
    assert not steps.duplicated(["run", "attempt", "step", "source"]).any()
    numbers = sorted(batch.tables["attempts"]["attempt"])
    assert numbers == list(range(1, len(numbers) + 1))
