"""`cli.py analyse projection`: the answer line, its tables as JSON, refusals with their place."""

import pytest

from tests import app_server as processes
from tests.app_server import here as cli
from tests.app_server import here_json as cli_json
from tests.samples import verl_log

TABLES = {"platforms", "phases", "breakeven", "calibration", "drivers", "claims", "whole_step", "gaps"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli-projection")
    log = place / "grpo.log"
    log.write_text(verl_log(1, 20))
    processes.cli_json("import", log, "--run", "grpo-8b", "--platform", "h100-sxm", "--gpus", 16, home=place)
    return place


def test_the_line_names_run_target_and_price(home):
    params = '{"targets": ["gb200-nvl72"], "quotes": ["gb200-nvl72:3.3"], "draws": 1000}'
    words = cli("analyse", "projection", "--params", params, home=home)
    assert words.returncode == 0, words.stderr
    assert words.stdout.startswith("Run grpo-8b takes ") and "GB200 NVL72" in words.stdout
    assert "$3.30 (your quote)" in words.stdout
    answer = cli_json("analyse", "projection", "--params", params, home=home)
    assert words.stdout.startswith(answer["answer"])
    assert set(answer["tables"]) == TABLES
    kinds = [row["kind"] for row in answer["tables"]["platforms"]]
    assert kinds == ["measured", "projected"]
    assert answer["params"]["quotes"] == ["gb200-nvl72:3.3"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ('{"targets": ["gb300"]}', "'gb300' is no platform with GPUs"),
        ('{"run": "ghost"}', "There is no run 'ghost'"),
        ('{"hold": "nothing"}', "hold"),
    ],
)
def test_refusals_are_exit_code_1_and_name_the_place(home, params, words):
    done = cli("analyse", "projection", "--params", params, home=home)
    assert done.returncode == 1
    assert words in done.stderr and "Traceback" not in done.stderr
