"""Which files are taken for which of our templates: any part with a column of its own, and no others."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.arrival.spool import spool_bytes
from data.readers import choose, sniff_all
from data.readers.base import Choices
from data.readers.templates import TemplateReader, template_csv, templates
from tests.examples import some


def best(text: str, folder: Path) -> list[tuple[float, str]]:
    source = spool_bytes(text.encode(), "any.csv", folder)
    return [(s.confidence, r.template.name) for r, s in sniff_all(source) if isinstance(r, TemplateReader)]


@pytest.mark.parametrize("name", list(templates()))
def test_each_template_is_recognised(tmp_path: Path, name: str) -> None:
    ranking = best(template_csv(name), tmp_path)
    assert ranking[0][1] == name and ranking[0][0] > 0.9 and ranking[1][0] < 0.7


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        "timestamp,gpu_memory_used_mb,gpu_utilization_pct,power_draw_w\n2026-01-01T00:00:00Z,1,2,3\n",
        "run_id,algorithm,seed,wall_time_seconds,gpu_hours,cost_cny,peak_vram_mb\na,grpo,1,2,3,4,5\n",
        '"Step","run-a - reward","run-a - reward__MIN"\n"1","2","3"\n',
        "method,path,status,latency_ms\nGET,/,200,3\n",
        "epoch,loss,lr,grad_norm,tokens_seen\n1,2,3,4,5\n",
        "timestamp, index, utilization.gpu [%], memory.used [MiB]\n2026/01/01 00:00:00, 0, 1 %, 1 MiB\n",
    ],
)
def test_other_files_are_not_taken_for_templates(tmp_path: Path, text: str) -> None:
    assert best(text, tmp_path)[0][0] < 0.5


def own_columns(name: str) -> set[str]:
    """Columns that only this template has; the hardware columns of `runs` are those of `allocations` too."""
    return set(templates()[name].names) - {
        column
        for other, template in templates().items()
        if other != name and not (name == "allocations" and other == "runs")
        for column in template.names
    }


@st.composite
def minimal_headers(draw: st.DrawFn) -> tuple[str, list[str]]:
    name = draw(st.sampled_from(list(templates())))
    template = templates()[name]
    chosen = set(template.required) | {draw(st.sampled_from(sorted(group))) for group in template.signature}
    own = sorted(own_columns(name) or set(template.names))
    chosen.add(draw(st.sampled_from(own)))
    chosen |= draw(st.sets(st.sampled_from(template.names)))
    if name == "runs":
        chosen.add(draw(st.sampled_from(sorted(set(template.names) - set(templates()["allocations"].names)))))
    return name, draw(st.permutations(sorted(chosen)))


@given(made=minimal_headers())
@settings(deadline=None, max_examples=some(100))
def test_any_part_of_a_template_with_one_column_of_its_own_is_that_template(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, list[str]]
) -> None:
    name, header = made
    text = ",".join(header) + "\n" + ",".join("1" for _ in header) + "\n"
    source = spool_bytes(text.encode(), "some.csv", tmp_path_factory.mktemp("t"))
    assert choose(source, Choices()).format == templates()[name].format


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("run,started_at,ended_at,status,role,platform,gpus", "runs"),
        ("run,started_at,ended_at,status", "runs"),
        ("run,status", "runs"),
        ("run,pool,role,platform,gpus,started_at,ended_at,status,campaign", "runs"),
        ("run,platform,gpus", "runs"),
        ("run,role,gpus", "allocations"),
        ("run,role,platform,gpus,started_at,ended_at", "allocations"),
        ("step,tok_gen", "steps"),
        ("env,busy_s", "env_events"),
        ("day,bucket,billed_cost,currency,campaign", "costs"),
        ("day,cost,run", "costs"),
    ],
)
def test_short_headers_of_runs_and_costs(tmp_path: Path, header: str, name: str) -> None:
    source = spool_bytes(f"{header}\n{header}x\n".encode(), "some.csv", tmp_path)
    assert choose(source, Choices()).format == templates()[name].format
