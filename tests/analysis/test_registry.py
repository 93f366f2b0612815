"""The list of questions: every entry leads to its module, which is imported when it is asked, not before."""

import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import pytest

import analysis
from analysis.params import Params
from analysis.registry import Question
from analysis.result import Result
from data.view import View

ROOT = Path(__file__).parents[2]
STARTED = """
import sys
{imports}
loaded = set(sys.modules)
from analysis import QUESTIONS
print(sorted(loaded & {{*{heavy}, *(f"analysis.{{name}}" for name in QUESTIONS)}}))
"""


@pytest.mark.parametrize("name", sorted(analysis.QUESTIONS))
def test_an_entry_leads_to_its_own_module(name: str) -> None:
    entry = analysis.QUESTIONS[name]
    assert entry.params.question == name
    assert entry.params.model_config.get("extra") == "forbid"
    assert entry.title
    hints = get_type_hints(entry.compute)
    view, params = signature(entry.compute).parameters
    assert (hints[view], hints[params], hints["return"]) == (View, entry.params, Result)


def test_every_module_that_answers_a_question_is_listed() -> None:
    answering = {
        path.stem for path in (ROOT / "analysis").glob("*.py") if "\ndef compute(" in path.read_text()
    }
    assert answering == set(analysis.QUESTIONS)


@pytest.mark.parametrize(
    ("imports", "heavy"),
    [
        ("import reports.jobs", ["models.backtest", "sqlglot", "scipy", "markdown_it"]),
        ("import cli; cli.parser()", ["pandas", "duckdb", "requests"]),
    ],
)
def test_nothing_is_imported_before_it_is_asked(imports: str, heavy: list[str]) -> None:
    assert printed(STARTED.format(imports=imports, heavy=heavy)) == "[]"


def test_no_question_takes_a_second_to_import() -> None:
    """`scipy.stats` builds a hundred distributions; the questions need three quantiles."""
    asked = "from analysis import QUESTIONS; [question.params for question in QUESTIONS.values()]"
    assert printed(
        f"{asked}; import sys; print('scipy.stats' in sys.modules, 'analysis.gain' in sys.modules)"
    ) == ("False True")


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_wrong_class_of_parameters_is_refused() -> None:
    assert Question("ledger", "LedgerParams", "").params.question == "ledger"
    with pytest.raises(TypeError, match=r"analysis\.ledger\.compute is no class of parameters"):
        _ = Question("ledger", "compute", "").params
    assert issubclass(Question("ledger", "CommonParams", "").params, Params)
