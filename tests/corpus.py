"""A table of facts against what the command line says: `python -m tests.corpus [FOLDER] [--all] [PART]`.

FOLDER holds EXPECTED.csv (file, fact, value, how, canonical, tol) and the files it names; the default is
`../shared/corpus` beside this checkout. Printed are file, fact, expected and got of each fact that does not
hold (`--all`: of each), for files whose path holds PART. Exit code 1 when one does not.
"""

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import cli

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
ZONE = "UTC"
ABSENT = "(no such fact)"


@dataclass(frozen=True)
class Expected:
    """One row of the table: a fact of a file, its value as text, and how far off it may be."""

    file: str
    fact: str
    value: str
    tolerance: float


@dataclass(frozen=True)
class Compared:
    """A fact as expected and as found."""

    expected: Expected
    got: object

    @property
    def holds(self) -> bool:
        """True when the fact is there and has the value."""
        return holds(self.got, self.expected.value, self.expected.tolerance)


def holds(got: object, want: str, tolerance: float) -> bool:
    """The rule of the table: |got - want| <= tol * max(|want|, 0.001); `missing` means null."""
    if want == "missing":
        return got is None
    try:
        return abs(float(str(got)) - float(want)) <= tolerance * max(abs(float(want)), 0.001)
    except ValueError:
        return str(got) == want


def expected_facts(folder: Path = CORPUS) -> dict[str, list[Expected]]:
    """Canonical facts by file; empty without the table."""
    table = folder / "EXPECTED.csv"
    found: dict[str, list[Expected]] = {}
    if not table.is_file():
        return found
    with table.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if row["canonical"] == "yes":
                one = Expected(row["file"], row["fact"], row["value"], float(row["tol"] or 0))
                found.setdefault(row["file"], []).append(one)
    return found


def compare(folder: Path, file: str, wanted: Sequence[Expected]) -> Iterator[Compared]:
    """The facts of one file, as `cli.py facts FILE --json` prints them, beside what is expected."""
    answer = io.StringIO()
    with redirect_stdout(answer), redirect_stderr(io.StringIO()):
        cli.main(["facts", str(folder / file), "--timezone", ZONE, "--json"])
    said = json.loads(answer.getvalue())
    refusal = f"refused: {said['error']['what']}" if "error" in said else ABSENT
    facts = said.get("facts", {})
    yield from (Compared(one, facts.get(one.fact, refusal)) for one in wanted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a fact does not hold, 2 when there is nothing to compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--all", action="store_true", help="print the facts that hold, too")
    options = parser.parse_args(arguments)
    files = {name: rows for name, rows in expected_facts(options.folder).items() if options.part in name}
    if not files:
        print(f"No facts in {options.folder / 'EXPECTED.csv'}", file=sys.stderr)
        return 2
    done = wrong = 0
    print("file\tfact\texpected\tgot")
    for name, wanted in files.items():
        for one in compare(options.folder, name, wanted):
            done, wrong = done + 1, wrong + (not one.holds)
            if options.all or not one.holds:
                got = "missing" if one.got is None else one.got
                print(f"{name}\t{one.expected.fact}\t{one.expected.value}\t{got}", flush=True)
    print(f"{done - wrong:,} of {done:,} facts of {len(files):,} files hold", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
