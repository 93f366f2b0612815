"""The documentation says what the code does: names, flags, limits and examples are compared with it.

`python -m tests.test_docs` rewrites docs/templates.md and docs/formats.md.
"""

import argparse
import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

import analysis
import cli
from analysis.measures import MEASURES
from analysis.params import DEFAULT_PRICE, CommonParams
from analysis.result import Assumption, Figure, Notice, Result
from analysis.utilisation import LOW_COVERAGE
from data import attempt_match, ingest, receipt
from data.arrival import spool, unpack
from data.gpu import rollup as gpu_rollup
from data.logs.keymap import KeyRule
from data.parse import csvio
from data.readers.templates import templates
from data.run_details import Algorithm, Mode, Role, Status
from data.store import get_store
from data.tables import Column
from models import cost, timeweight
from reports import diff, html, link_terms, links, middleware, receive, uploads
from tests.docs_pages import DOCS, ROOT, format_tables, template_tables

WRITTEN = {"templates.md": template_tables, "formats.md": format_tables}
NOT_THERE_YET = {"data/readers/pebble_log.py", "tests/data/readers/test_pebble_log.py"}
"""Files that a page tells people to write."""
LONG = {"readers.md": 170, "cli.md": 300, "files.md": 150, "nemotron-3-ultra.md": 170, "validation.md": 150}
"""They hold a whole reader with its test, every flag, and every table of a worked stage."""
SKIPPED = {"var", "docs"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"--[a-z][a-z-]+")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The part of a page under `## heading`."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section '{heading}'"
    return found[1]


def rows(text: str) -> dict[str, list[str]]:
    """Cells of table rows by their first cell."""
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells}


def written() -> list[Path]:
    """Every page, README.md included when it is there."""
    return [*sorted(DOCS.glob("*.md")), *(p for p in [ROOT / "README.md"] if p.exists())]


def sources() -> Iterator[Path]:
    """Python files and the Makefile of the project."""
    yield from (*ROOT.glob("*.py"), ROOT / "Makefile")
    for room in ROOT.iterdir():
        if room.is_dir() and room.name not in SKIPPED and not room.name.startswith("."):
            yield from (path for path in room.rglob("*.py") if path != Path(__file__))


@pytest.mark.parametrize("name", WRITTEN)
def test_written_pages_are_the_generated_ones(name):
    assert page(name) == WRITTEN[name](), "run python -m tests.test_docs"


def test_every_template_column_is_documented():
    text = page("templates.md")
    for template in templates().values():
        listed = set(rows(section(text, template.name)))
        assert {f"`{name}`" for name in template.names} <= listed


def sections_of_router() -> dict[str, list[tuple[str, str, str, str]]]:
    """SECTIONS without running the script that draws the page."""
    tree = ast.parse((ROOT / "pages" / "router.py").read_text(encoding="utf-8"))
    found = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SECTIONS"
    ]
    return dict(ast.literal_eval(found[0]))


def test_every_page_is_documented():
    text = section(page("house.md"), "Pages")
    listed = set(re.findall(r"^\| (\w+) \| ([^|]+?) \|", text, re.MULTILINE)) - {("section", "page")}
    assert listed == {(name, row[1]) for name, found in sections_of_router().items() for row in found}


def commands(
    parser: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """(name, parser) of every command that does something."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for word, child in action.choices.items():
            yield from commands(child, f"{name} {word}".strip())
    if parser.get_default("work"):
        yield name, parser


def test_every_command_and_flag_is_documented_and_no_other():
    text = page("cli.md")
    known = dict(commands(cli.parser()))
    headings = set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    assert headings == set(known)
    for name, parser in known.items():
        flags = {o for a in parser._actions for o in a.option_strings if o.startswith("--")} - {"--help"}
        listed = {key.strip("`") for key in rows(section(text, name)) if key.startswith("`--")}
        assert listed == flags, name


def test_flags_that_pages_mention_exist():
    parsers = [p for _, p in commands(cli.parser())]
    flags = {o for p in parsers for a in p._actions for o in a.option_strings}
    for path in written():
        for call in re.findall(r"cli\.py [^`\n]*", path.read_text(encoding="utf-8")):
            assert set(FLAG.findall(call)) <= flags, f"{path.name}: {call}"


def own_parameters(question: analysis.Question) -> set[str]:
    return set(question.params.model_fields) - set(CommonParams.model_fields)


def test_every_question_is_documented():
    listed = rows(page("questions.md"))
    asked = {key.strip("`"): cells for key, cells in listed.items() if key.strip("`") in analysis.QUESTIONS}
    assert set(asked) == set(analysis.QUESTIONS)
    for name, question in analysis.QUESTIONS.items():
        own = own_parameters(question)
        words = set(re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", asked[name][1])))
        for other in re.findall(r"all of `(\w+)`", asked[name][1]):
            words = words - {other} | own_parameters(analysis.QUESTIONS[other])
        assert (asked[name][0], words) == (question.title, own)


def json_keys(text: str, flag: str = "`--json`") -> set[str]:
    """Names in quotes in the row of --json."""
    return set(re.findall(r'"(\w+)"', rows(text)[flag][0]))


def test_json_shapes():
    text = page("cli.md")
    result = Result("q", {}, "").to_dict()
    parts = {f.name for kind in (Figure, Assumption, Notice) for f in fields(kind)}
    assert json_keys(section(text, "analyse")) == set(result) | parts
    listed = re.search(r"A receipt holds .*?\n\n", text, re.DOTALL)[0]
    assert {f.name for f in fields(receipt.Receipt)} <= set(re.findall(r"`(\w+)`", listed))
    assert f"the first {receipt.SHOWN_SET_ASIDE}" in listed
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    link = links.Link(1, "t", "h", "q", moment, None, None, None, 0)
    assert json_keys(section(text, "link list")) == {"links", *link.to_dict()}


def test_json_of_reports_and_links(tmp_path, capsys):
    text, home = page("cli.md"), str(tmp_path)
    answers = {
        "report": ["report", "--out", str(tmp_path / "r.html")],
        "link create": ["link", "create"],
        "facts": ["facts", str(tmp_path / "steps.csv")],
    }
    (tmp_path / "steps.csv").write_text("run,step,step_s\na,1,2.5\n", encoding="utf-8")
    for heading, words in answers.items():
        more = [] if heading == "facts" else ["--home", home]
        assert cli.main([*words, *more, "--json"]) == 0
        assert json_keys(section(text, heading)) == set(json.loads(capsys.readouterr().out))
    assert cli.main(["facts", str(tmp_path / "absent"), "--json"]) == cli.REFUSED
    error = json.loads(capsys.readouterr().out)
    assert set(error) == {"error"}
    assert set(error["error"]) == {"kind", "what", "where", "remedy"}
    get_store(tmp_path).close()


def test_exit_codes():
    listed = rows(page("cli.md"))
    assert {"0", "130", str(cli.REFUSED), str(cli.USAGE)} == {key for key in listed if key.isdecimal()}
    assert listed[str(cli.REFUSED)][0].startswith("refused")
    assert listed[str(cli.USAGE)] == ["wrong usage"]


def test_every_environment_variable_is_documented():
    text = section(page("deploy.md"), "Settings")
    read = set()
    for path in sources():
        code = path.read_text(encoding="utf-8")
        read |= set(re.findall(r"\bIPD_[A-Z_]+\b", code))
        read |= set(re.findall(r"""environ(?:\.get\(|\[)\s*["']([A-Z_]+)["']""", code))
    read |= set(re.findall(r"^(?:export )?(\w+) \?=", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert sorted(name for name in read if f"`{name}`" not in text) == []
    assert sorted(set(re.findall(r"`(IPD_[A-Z_]+)`", text)) - read) == []
    assert f"`{middleware.OPEN_WORDS}`" in page("deploy.md")


def anchors(path: Path) -> set[str]:
    """Anchors that a page offers, as GitHub makes them from headings."""
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


@pytest.mark.parametrize("path", written(), ids=lambda p: p.name)
def test_relative_links_resolve(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in anchors(place), f"{path.name}: {target}"


@pytest.mark.parametrize("path", written(), ids=lambda p: p.name)
def test_make_targets_exist(path):
    targets = set(
        re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = set(re.findall(r"`make ([a-z][\w-]*)", path.read_text(encoding="utf-8")))
    assert named <= targets


def test_every_make_target_is_documented():
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"`make {name}`" for name in phony[1].split()} <= set(rows(page("deploy.md")))


def test_files_that_pages_name_exist():
    for path in written():
        for name in re.findall(
            r"`((?:data|models|analysis|charts|reports|pages|tests)/[^`<…]*)`", path.read_text()
        ):
            assert name in NOT_THERE_YET or (ROOT / name).exists(), f"{path.name}: {name}"


def test_limits_are_those_of_the_code():
    day = 24 * 3600
    spans = [
        span.total_seconds() for span in (link_terms.SHORTEST, link_terms.DEFAULT_EXPIRY, link_terms.LONGEST)
    ]
    expected = {
        "upload through the page": f"{receive.DEFAULT_LIMIT_MB} MB",
        "silence while a file is sent": f"{receive.CHUNK_SECONDS:g} s",
        "uploads read at once": f"{receive.WORKERS}",
        "archive, unpacked": f"{unpack.DEFAULT_UNPACKED_MB} MB",
        "archive, members": f"{unpack.limits().members}",
        "free disk to take an upload": f"{receive.SPACE_FACTOR} x its size",
        "free disk to load a file": f"{ingest.SPACE_FACTOR} x its size",
        "lifetime of an upload token": f"{uploads.TOKEN_TTL_S / 3600:g} h",
        "memory of a GPU sample reader": re.sub(
            r"(\d)([A-Z])", r"\1 \2", gpu_rollup.connect.__defaults__[0], count=1
        ),
        "text looked at to recognise a format": f"{spool.HEAD_BYTES / 1024:g} KiB",
        "records before a CSV header": f"{csvio.HEADER_WITHIN_RECORDS}",
        "lines of one quoted CSV cell": f"{csvio.MAX_RECORD_LINES}",
        "set-aside lines in a receipt": f"{receipt.SHOWN_SET_ASIDE}",
        "text kept of a set-aside line": f"{csvio.TEXT_LIMIT} characters",
        "longest hold of a GPU sample": f"{gpu_rollup.HOLD_MEDIANS} x the median gap",
        "link: shortest, default, longest": (
            f"{spans[0] / 3600:g} h, {spans[1] / day:g} d, {spans[2] / day:g} d"
        ),
        "link token": f"{8 * link_terms.TOKEN_BYTES} bits",
        "table rows shown in a report": f"{html.SHOWN_ROWS}",
    }
    listed = rows(section(page("deploy.md"), "Limits"))
    assert {key: cells[0] for key, cells in listed.items() if key not in ("limit", "---")} == expected


def test_numbers_repeated_in_words():
    assert f"`{DEFAULT_PRICE}`" in page("cost.md")
    assert f"random token of {8 * link_terms.TOKEN_BYTES} bits" in page("sharing.md")
    assert (
        f"{link_terms.DEFAULT_EXPIRY.days} days; from 1 hour to {link_terms.LONGEST.days} days, or none"
        in page("sharing.md")
    )
    assert f"at most the first {html.SHOWN_ROWS} rows" in page("sharing.md")
    assert f"the first {html.DRAWN_ROWS} rows of what" in page("sharing.md")
    assert f"agree in {diff.DIGITS} digits" in page("sharing.md")
    assert f"at most {timeweight.HOLD_FACTOR:g} times that GPU's median gap" in page("utilisation.md")
    assert f"Below {100 * LOW_COVERAGE:g} % coverage" in page("utilisation.md")
    assert f"differ by more than {100 * attempt_match.LOOSE_RELATIVE:g} %" in page("files.md")
    assert attempt_match.FINGERPRINT_ROWS == 3
    assert "at least three" in page("files.md")


def test_words_of_run_details():
    text = page("run-details.md")
    assert set(get_args(Role)) == {
        key.strip("`") for key in rows(section(text, "Pools")) if key.startswith("`")
    }
    other = set(re.findall(r"`(\w+)`", section(text, "Other fields")))
    assert other == {*get_args(Algorithm), *get_args(Mode), *get_args(Status)}


def test_every_measure_is_documented():
    listed = rows(page("utilisation.md"))
    assert {f"`{m.id}`": m.label for m in MEASURES.values()} == {
        key: cells[0] for key, cells in listed.items() if key.startswith("`")
    }


def test_schema_and_keymap_columns_are_documented():
    text = section(page("house.md"), "Schema")
    names = [f.name for kind in (Column, KeyRule) for f in fields(kind) if f.name != "framework"]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_cost_example():
    text = section(page("cost.md"), "Worked example")
    first = cost.AttemptTime(1, "failed", dict.fromkeys(range(1, 11), 600.0))
    second = cost.AttemptTime(2, "completed", dict.fromkeys(range(9, 17), 600.0), 1, 8)
    kept = [item.kept_frac for item in cost.lineage([first, second]).values()]
    hours = [cost.gpu_hours(8, 7200), cost.gpu_hours(8, 5400)]
    usd = [cost.rent_usd(h, 4.0) for h in hours]
    compute = [u * k for u, k in zip(usd, kept, strict=True)]
    lost = [u - c for u, c in zip(usd, compute, strict=True)]
    listed = rows(text)

    def dollars(*values: float) -> list[str]:
        return [f"${value:,.2f}" for value in values]

    assert listed["GPU-hours"] == [f"{h:.2f}" for h in [*hours, sum(hours)]]
    assert listed["surviving share"][:2] == [f"{k:.2f}" for k in kept]
    assert listed["`compute`"] == dollars(*compute, sum(compute))
    assert listed["`campaign`"] == dollars(*usd, sum(usd))
    assert listed["`full`"][2] == dollars(sum(usd) + 5.0 + 20.0)[0]
    assert listed["lost"] == dollars(*lost, sum(lost))
    low, high = dollars(cost.rent_usd(sum(hours), 3.3), cost.rent_usd(sum(hours), 4.0))
    assert f"{low} to {high}." in text
    useful = 8 * (kept[0] * sum(first.step_s.values()) + sum(second.step_s.values()))
    assert f"= {cost.goodput_frac(useful, 8 * (7200 + 5400)):.3f}." in text
    split = cost.split_by_phase(usd[1], 5400, 4800, {"rollout": 3000.0, "train": 1500.0})
    parts = dollars(*split.by_phase.values(), split.unattributed, split.outside_steps, split.total)
    assert f"| {' | '.join(parts)} |" in text


def test_utilisation_example():
    text = section(page("utilisation.md"), "Worked example")
    listed = rows(text)
    ts, values = [0, 10, 20, 30, 130, 140], [1.0, 1.0, 0.5, 0.2, 0.8, 0.0]
    assert "samples at 0, 10, 20, 30, 130 and 140 s with GPU-Util 1.0, 1.0, 0.5, 0.2, 0.8 and 0.0." in text
    held, unknown = timeweight.hold_seconds(ts), float(timeweight.unknown_seconds(ts).sum())
    known, mean = float(held.sum()), timeweight.weighted_mean(ts, values)
    assert listed["seconds held"] == [", ".join(f"{s:g}" for s in held)]
    assert listed["median gap, longest hold"] == [f"10 s, {held.max():g} s"]
    assert listed["known, unknown"] == [f"{known:g} s, {unknown:g} s"]
    assert listed["mean over rows"] == [f"{100 * sum(values) / len(values):.1f} %"]
    assert listed["weighted by time"] == [f"{100 * mean:.1f} %"]
    assert listed["coverage"] == [f"{100 * known / (known + unknown):.1f} %"]
    low, high = mean * known / (known + unknown), (mean * known + unknown) / (known + unknown)
    assert listed["bounds"] == [f"{100 * low:.1f} % to {100 * high:.1f} %"]


def test_pages_are_short_and_name_no_machine():
    for path in DOCS.glob("*.md"):
        lines = path.read_text(encoding="utf-8").splitlines()
        generated = path.name in (*WRITTEN, "metrics.md")
        assert generated or len(lines) <= LONG.get(path.name, 130), path.name
        assert not re.search(r"(?<![\w.])/(?:home|work|root|Users)/", "\n".join(lines)), path.name


if __name__ == "__main__":
    for name, written_page in WRITTEN.items():
        (DOCS / name).write_text(written_page(), encoding="utf-8")


def test_commands_of_a_crontab_are_ones_that_the_command_line_takes():
    lines = re.findall(r"cli\.py ([^`\n>]*)", section(page("sharing.md"), "Every week"))
    whole = [line for line in lines if "--" in line]
    assert len(whole) == 2
    for line in whole:
        told = cli.parser().parse_args(line.replace("\\%", "%").replace("$(date +%F)", "2026-12-07").split())
        assert told.notebook == 12 and told.command in {"report", "link create"}
