"""Canonical facts: hand-worked small files, and the table of the shared corpus where it is there."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError, UserError
from data.facts import facts_of
from data.facts_base import blank_facts
from tests import corpus
from tests.corpus import CORPUS, Expected, compare, expected_facts, holds
from tests.data.verl_files import config_lines, jsonl, line, values


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout")
@pytest.mark.parametrize(("file", "wanted"), expected_facts().items(), ids=lambda value: str(value)[:60])
def test_the_corpus_facts_hold(file: str, wanted: list[Expected]) -> None:
    found = list(compare(CORPUS, file, wanted))
    assert [(one.expected.fact, one.expected.value, one.got) for one in found if not one.holds] == []
    assert found


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout")
def test_no_other_corpus_file_is_mistaken_for_ours() -> None:
    ours = expected_facts()
    for path in sorted(CORPUS.glob("*/*")):
        name = str(path.relative_to(CORPUS))
        if name not in ours:
            with pytest.raises(UserError):
                facts_of(path)


def made_corpus(folder: Path, seconds: str, file: str = "steps.csv") -> None:
    (folder / "steps.csv").write_text("run,step,step_s\na,1,2.5\na,2,3.5\n", encoding="utf-8")
    (folder / "notes.txt").write_text("Dear all\n", encoding="utf-8")
    rows = [("records", "2", "yes", "0"), ("step_seconds_sum", seconds, "yes", "1e-6"),
            ("mfu_mean", "missing", "yes", "0"), ("records", "99", "no", "0")]  # fmt: skip
    text = "".join(f"{file},{fact},{value},by hand,{yes},{tol}\n" for fact, value, yes, tol in rows)
    (folder / "EXPECTED.csv").write_text(f"file,fact,value,how,canonical,tol\n{text}", encoding="utf-8")


def test_the_script_prints_what_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_corpus(tmp_path, "6")
    assert corpus.main([str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("file\tfact\texpected\tgot\n", "3 of 3 facts of 1 files hold\n")
    assert corpus.main([str(tmp_path), "--all"]) == 0
    assert "steps.csv\tmfu_mean\tmissing\tmissing\n" in capsys.readouterr().out
    made_corpus(tmp_path, "7")
    assert corpus.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["steps.csv\tstep_seconds_sum\t7\t6.0"]


def test_a_refused_file_holds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_corpus(tmp_path, "6", file="notes.txt")
    assert corpus.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.count("\trefused: ") == 3
    assert corpus.main([str(tmp_path), "other"]) == 2
    assert corpus.main([str(tmp_path / "absent")]) == 2


def test_the_rule_can_fail() -> None:
    assert holds(1.0, "1", 0)
    assert holds(1.0000001, "1", 1e-6)
    assert not holds(1.1, "1", 1e-6)
    assert not holds(None, "1", 1e-6)
    assert not holds(0, "missing", 0)
    assert holds("lf", "lf", 0)


def test_a_console_log_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    rows = [line(s, {**values(s), "val-core/openai/gsm8k/acc/mean@1": s / 10}) for s in (1, 2)]
    path.write_text(
        "\n".join([*config_lines(), "2025-05-22 07:03:31,000 INFO x", *rows]) + "\n", encoding="utf-8"
    )
    answer = facts_of(path, "UTC")
    facts = answer["facts"]
    assert isinstance(facts, dict)
    assert answer["format"] == facts["format"] == "verl_console"
    assert answer["file"] == str(path)
    want = {
        "records": 2, "runs": 1, "run_names": "trial - 7", "steps_count": 2, "step_first": 1, "step_last": 2,
        "step_seconds_sum": 40.0, "step_seconds_mean": 20.0, "step_seconds_median": 20.0, "run_seconds": None,
        "phase_seconds[rollout]": 20.0, "phase_seconds[logprob]": 4.0, "phase_seconds[train]": 10.0,
        "phase_seconds[weight_sync]": 2.0, "phase_seconds[eval]": None, "phase_seconds[env]": None,
        "unattributed_seconds": 4.0, "tokens_total": 12800.0, "throughput_tokens_per_s": 320.0, "gpus": 16,
        "gpu_count_inferred": 16.0, "gpu_hours": 16 * 40 / 3600, "mfu_mean": 0.375,
        "memory_peak_bytes": 42 * 2**30, "eval_score[openai/gsm8k]": 0.2, "time_first_epoch_s": 1747897411.0,
        "time_zone": None, "encoding": "utf-8",
        "line_ending": "lf", "coverage": None, "billed_cost": None, "util_mean_by_time[gpu_util]": None,
    }  # fmt: skip
    assert {name: facts[name] for name in want} == pytest.approx(want, abs=1e-9)
    assert blank_facts().keys() <= facts.keys()


def test_stamps_fix_no_instant_without_a_zone(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("2025-05-22 07:03:31,000 INFO x\n" + line(1, values(1)) + "\n", encoding="utf-8")
    facts = facts_of(path)["facts"]
    assert isinstance(facts, dict)
    assert facts["time_first_epoch_s"] is None
    assert facts["span_s"] == 0.0


def test_windows_text_gives_the_same_facts(tmp_path: Path) -> None:
    text = jsonl({s: values(s) for s in (1, 2)})
    plain, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    plain.write_bytes(text.encode())
    other.write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    left, right = facts_of(plain)["facts"], facts_of(other)["facts"]
    assert isinstance(left, dict)
    assert isinstance(right, dict)
    differ = {name for name in left if left[name] != right[name]}
    assert differ == {"encoding", "line_ending", "run_names"}
    assert (right["encoding"], right["line_ending"]) == ("utf-16le-bom", "crlf")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xef\xbb\xbf", b'"Step","r - a"\n', b"PK\x03\x04abc", b"a\x00b"]
)
def test_empty_header_only_and_binary_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "upload.csv"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError) as caught:
        facts_of(path)
    assert "upload.csv" in caught.value.where
    assert caught.value.remedy


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({1: values(1)}), encoding="utf-8")
    facts_of(path)
    assert list(scratch.iterdir()) == []
