"""Says after the run which formats were damaged in which ways, and what became of the files."""

from collections import Counter

import pytest


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter) -> None:
    """One line a mutation, from what the tests of damaged files recorded (also across processes)."""
    by_mutation: dict[str, Counter[str]] = {}
    formats: Counter[str] = Counter()
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == "damaged":
                format_, mutation, outcome = value
                formats[format_] += 1
                by_mutation.setdefault(mutation, Counter())[outcome] += 1
    if not formats:
        return
    terminalreporter.section(f"{formats.total()} damaged files of {len(formats)} formats")
    for mutation, outcomes in sorted(by_mutation.items()):
        told = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))
        terminalreporter.write_line(f"{mutation}: {told}")
    fewest = ", ".join(f"{name} {n}" for name, n in sorted(formats.items(), key=lambda one: one[1])[:5])
    terminalreporter.write_line(f"fewest files: {fewest}")
