"""Load the files of data/catalog and refuse rows that contradict each other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from data import catalogue_types as t
from data.catalogue_rows import Line, check_evidence, read_rows, unique
from data.errors import CatalogueError

_TEXT_UNITS = frozenset({"text", "date"})


def platforms(folder: Path) -> dict[str, t.Platform]:
    """Platforms by id."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.Platform) -> None:
        for column in ("platform_id", "name", "vendor", "generation", "family", "source"):
            line.need(column)
        if row.kind not in ("gpu", "tpu", "cpu", "service"):
            raise line.refuse(f"kind {row.kind!r} is unknown", "Use gpu, tpu, cpu or service.")
        unique(seen, (row.platform_id,), line, "platform")

    return {p.platform_id: p for p in read_rows(folder / "platforms.csv", t.Platform, check, ("source",))}


def _known(line: Line, platform_id: str, platforms: dict[str, t.Platform]) -> None:
    if platform_id not in platforms:
        raise line.refuse(f"platform {platform_id!r} is not in platforms.csv", "Add it there first.")


def facts(folder: Path, platforms: dict[str, t.Platform]) -> dict[tuple[str, str], tuple[t.Fact, ...]]:
    """Specification rows by platform and field."""
    groups: dict[tuple[str, str], list[t.Fact]] = {}
    seen: dict[tuple[str, ...], str] = {}
    chosen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.Fact) -> None:
        _known(line, row.platform_id, platforms)
        line.need("field")
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="source_date")
        unique(seen, (row.platform_id, row.field, str(row.value), row.condition, row.source), line, "fact")
        if row.preferred:
            unique(chosen, (row.platform_id, row.field), line, "preferred fact")
        value = row.value if row.unit in _TEXT_UNITS else line.number("value")
        groups.setdefault((row.platform_id, row.field), []).append(replace(row, value=value))

    path = folder / "platform_facts.csv"
    read_rows(path, t.Fact, check, renamed={"date": "source_date"})
    for key in groups:
        if key not in chosen:
            raise CatalogueError(
                f"no row of {key[0]} / {key[1]} is preferred", path.name, "Set preferred to true on one row."
            )
    return {key: tuple(rows) for key, rows in groups.items()}


def prices(folder: Path, platforms: dict[str, t.Platform]) -> dict[str, t.Price]:
    """Price rows by id, each at version 1."""
    ids: dict[tuple[str, ...], str] = {}
    picks: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.PriceRow) -> None:
        line.need("price_id")
        _known(line, row.platform_id, platforms)
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="as_of")
        unique(ids, (row.price_id,), line, "price id")
        if not row.unit.startswith(f"{row.currency} per "):
            raise line.refuse(
                f"unit {row.unit!r} is not in {row.currency or 'any currency'}",
                "Name one currency in both columns.",
            )
        if row.value is not None and row.value <= 0:
            raise line.refuse(f"a price of {row.value:g} is not a price", "Leave it empty when unknown.")
        _check_tier(line, row)
        if row.tier:
            unique(picks, (row.platform_id, row.kind, row.tier, row.unit), line, "the price of")

    rows = read_rows(folder / "prices.csv", t.PriceRow, check)
    return {p.price_id: t.Price(**vars(p)) for p in rows}


def _check_tier(line: Line, row: t.PriceRow) -> None:
    kinds = (*t.RENT_KINDS, *t.OTHER_KINDS)
    if row.kind not in kinds:
        raise line.refuse(f"kind {row.kind!r} is unknown", f"Use one of {', '.join(kinds)}.")
    if row.tier and row.tier not in t.TIERS:
        raise line.refuse(f"tier {row.tier!r} is unknown", f"Use one of {', '.join(t.TIERS)}.")
    if row.tier and (row.tier == "owned") == (row.kind in t.RENT_KINDS):
        raise line.refuse(
            f"kind {row.kind} and tier {row.tier} contradict each other",
            "Only what is bought is owned; what is rented has a provider tier.",
        )


def named(path: Path, kind: type[Any], key: str) -> dict[str, Any]:
    """Rows with aliases by id."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: Any) -> None:
        line.need("source")
        if line.need("status") not in t.FACT_STATUSES:
            raise line.refuse(
                f"status {row.status!r} is unknown", f"Use one of {', '.join(sorted(t.FACT_STATUSES))}."
            )
        names = {getattr(row, key).casefold(), *(a.casefold() for a in row.aliases)}
        for name in names:
            unique(seen, (name,), line, "the name")

    return {getattr(row, key): row for row in read_rows(path, kind, check)}


def claims(folder: Path, platforms: dict[str, t.Platform]) -> tuple[t.Claim, ...]:
    """Claims in file order."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.Claim) -> None:
        for column in ("claim_id", "statement", "conditions", "source", "status"):
            line.need(column)
        unique(seen, (row.claim_id,), line, "claim")
        if row.status not in t.CLAIM_STATUSES:
            raise line.refuse(
                f"status {row.status} makes a measurement of a claim",
                f"Use one of {', '.join(sorted(t.CLAIM_STATUSES))}.",
            )
        if row.value is not None:
            line.need("unit")
        for platform_id in filter(None, (row.baseline_platform_id, row.target_platform_id)):
            _known(line, platform_id, platforms)

    return tuple(read_rows(folder / "claims.csv", t.Claim, check))


def tco(folder: Path) -> dict[str, t.TcoDefault]:
    """Cost parameters by name."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.TcoDefault) -> None:
        line.need("parameter")
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="source_date")
        unique(seen, (row.parameter,), line, "parameter")

    return {r.parameter: r for r in read_rows(folder / "tco_defaults.csv", t.TcoDefault, check)}


def rl_runs(folder: Path, platforms: dict[str, t.Platform]) -> tuple[t.RlRun, ...]:
    """Published runs in file order."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.RlRun) -> None:
        for column in (
            "row_id",
            "framework",
            "framework_version",
            "measured_by",
            "source_repo",
            "source_path",
        ):
            line.need(column)
        _known(line, row.platform_id, platforms)
        unique(seen, (row.row_id,), line, "run")
        if line.need("status") != "measured":
            raise line.refuse(f"status {row.status} is not a measurement", "Published runs are measured.")

    return tuple(read_rows(folder / "rl_runs.csv", t.RlRun, check))
