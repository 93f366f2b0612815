"""`cli.py validate`: JSON of every set, the page made by the command, a folder that cannot be read."""

import json
from pathlib import Path

import cli
from reports.validate_command import MARKS
from tests.docs_pages import DOCS


def test_json_has_the_published_shape(capsys):
    assert cli.main(["validate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    sets = {s["set"]: s for s in found["sets"]}
    assert {"decode", "training", "training_cross_generation", "rl_step"} <= set(sets)
    one = sets["training_cross_generation"]
    assert (one["n_total"], one["n_predicted"], one["n"]) == (56, 53, 53)
    assert sum(one["skipped"].values()) == one["n_total"] - one["n_predicted"]
    assert one["coverage"] == one["coverage_k"] / one["coverage_n"]
    assert set(one["baselines"]["peak_flops"]) == {"n", "median_abs_error", "bias", "model_median_abs_error"}
    assert one["p10"] < 1 < one["p90"] and one["failed"] == []
    dense, moe = sets["decode"]["by_class"]
    assert (dense["class"], dense["n"], moe["class"], moe["n"]) == ("dense", 228, "moe", 105)
    assert dense["coverage_k"] + moe["coverage_k"] == sets["decode"]["coverage_k"]
    for part in (dense, moe):
        assert part["coverage_low"] <= 0.8 <= part["coverage_high"] and part["platform_out"]["n"] > 0


def test_lines_say_what_holds(capsys):
    assert cli.main(["validate"]) == 0
    assert "decode: holds" in capsys.readouterr().out.splitlines()


def test_the_page_is_made_by_the_command(capsys):
    cli.main(["validate", "--markdown"])
    told = capsys.readouterr().out.strip()
    page = (DOCS / "validation.md").read_text(encoding="utf-8")
    assert page.split(MARKS[0])[1].split(MARKS[1])[0].strip() == told


def test_a_folder_without_pairs_is_refused(tmp_path: Path, capsys):
    assert cli.main(["validate", "--dir", str(tmp_path)]) == cli.REFUSED
    assert "There is no table of pairs" in capsys.readouterr().err
