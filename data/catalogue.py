"""The catalogue: hardware, prices, models, benchmarks, claims and published RL runs, each with its source."""

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from data import catalogue_types as t
from data.catalogue_rows import Line, check_evidence, read_rows, unique
from data.catalogue_tokens import TokenPrice, TokenRates, load_token_prices, token_rates
from data.errors import CatalogueError

FOLDER = Path(__file__).parent / "catalog"
_Named = TypeVar("_Named", t.Llm, t.Benchmark)
_TEXT_UNITS = frozenset({"text", "date"})
_CORE_TIERS = (("on_demand", "marketplace"), ("on_demand", "hyperscaler"), ("on_demand", "neocloud"))


@dataclass(frozen=True)
class Catalogue:
    """A loaded catalogue; build it with `load_catalogue`. `version` is a hash of the content."""

    version: str
    price_book_date: str
    _platforms: dict[str, t.Platform]
    _facts: dict[tuple[str, str], tuple[t.Fact, ...]]
    _prices: dict[str, t.Price]
    _llms: dict[str, t.Llm]
    _benchmarks: dict[str, t.Benchmark]
    _claims: tuple[t.Claim, ...]
    _tco: dict[str, t.TcoDefault]
    _rl_runs: tuple[t.RlRun, ...]
    _token_prices: tuple[TokenPrice, ...]

    def platforms(self) -> tuple[t.Platform, ...]:
        """Machines in catalogue order (services left out)."""
        return tuple(p for p in self._platforms.values() if p.kind != "service")

    def platform(self, platform_id: str) -> t.Platform | None:
        """One platform by id."""
        return self._platforms.get(platform_id)

    def platform_of_gpu(self, gpu_name: str) -> t.Platform | None:
        """Platform whose driver reports exactly this GPU name; None when none or several do."""
        wanted = gpu_name.strip().casefold()
        found = [p for p in self._platforms.values() if wanted in {n.casefold() for n in p.gpu_names}]
        return found[0] if len(found) == 1 else None

    def fact(self, platform_id: str, field: str) -> t.Fact | None:
        """Preferred published value of a field, None when it was not published."""
        row = self.fact_row(platform_id, field)
        return row if row is not None and row.value is not None else None

    def fact_row(self, platform_id: str, field: str) -> t.Fact | None:
        """Preferred row of a field, also when its value is not published."""
        return next((f for f in self._facts.get((platform_id, field), ()) if f.preferred), None)

    def fact_rows(self, platform_id: str, field: str) -> tuple[t.Fact, ...]:
        """All rows of a field: the preferred one and those that contradict it."""
        return self._facts.get((platform_id, field), ())

    def facts(self) -> tuple[t.Fact, ...]:
        """All specification rows, unpublished ones included."""
        return tuple(f for rows in self._facts.values() for f in rows)

    def why_no_fact(self, platform_id: str, field: str) -> str:
        """Sentence for a specification nobody published, naming what is known about it."""
        row = self.fact_row(platform_id, field)
        if row is None:
            return "not published"
        why = row.condition or row.note
        if not why or why == "not published":
            return "not published"
        return why if why.startswith("not ") else f"not published: {why}"

    def prices(self) -> tuple[t.Price, ...]:
        """All price rows, unpublished ones included."""
        return tuple(self._prices.values())

    def price(self, platform_id: str, kind: str, tier: str) -> t.PriceChoice | None:
        """Rent of a platform under a picker entry; None: no such price. Never a neighbour's price."""
        return self._choice(platform_id, kind, tier, t.RENT_UNITS) if kind in t.RENT_KINDS else None

    def core_price(self, platform_id: str) -> t.PriceChoice | None:
        """Rent of a CPU platform in USD per vCPU-hour; the picker has no CPU entries, so its kind is said."""
        found = (self._choice(platform_id, k, tier, (t.CORE_UNIT,)) for k, tier in _CORE_TIERS)
        return next((c for c in found if c is not None), None)

    def price_by_id(self, price_id: str) -> t.PriceChoice | None:
        """A published price by id, with the range of quotes around it; None when unknown or not a rent."""
        row = self._prices.get(price_id)
        if row is None or row.value is None or row.unit not in (*t.RENT_UNITS, t.CORE_UNIT):
            return None
        return self._with_range(row) if row.kind in t.RENT_KINDS else None

    def price_menu(self) -> list[tuple[str, str]]:
        """Picker entries (kind, tier) that at least one platform has, the default first."""
        pairs = {(p.kind, p.tier) for p in self._prices.values() if p.tier and _is_rent(p)}
        return sorted(pairs, key=lambda kt: (t.RENT_KINDS.index(kt[0]), t.TIERS.index(kt[1])))

    def why_no_price(self, platform_id: str, kind: str, tier: str) -> str:
        """Sentence that says which kinds and tiers the platform does have."""
        known = self._platforms.get(platform_id)
        if known is None:
            return f"{platform_id} is not in the catalogue, so it has no price."
        rows = [p for p in self._prices.values() if p.platform_id == platform_id and _is_rent(p)]
        picks = sorted({(p.kind, p.tier) for p in rows if p.tier}, key=lambda kt: t.RENT_KINDS.index(kt[0]))
        head = f"No price {t.price_words(kind, tier)} for {known.name} is published"
        if picks:
            return f"{head}; there is {', '.join(t.price_words(k, x) for k, x in picks)}."
        if self.core_price(platform_id):
            return f"{head}: it is a CPU, rented by the vCPU-hour."
        return f"{head}, nor any other rent a GPU-hour."

    def quotes(self, platform_id: str, kind: str, unit: str) -> tuple[t.Price, ...]:
        """Published quotes of one platform, kind and unit: what a range spans."""
        return tuple(
            p
            for p in self._prices.values()
            if (p.platform_id, p.kind, p.unit) == (platform_id, kind, unit) and p.value is not None
        )

    def _choice(self, platform_id: str, kind: str, tier: str, units: Iterable[str]) -> t.PriceChoice | None:
        for row in self._prices.values():
            if (row.platform_id, row.kind, row.tier) == (platform_id, kind, tier) and row.unit in units:
                return self._with_range(row) if row.value is not None else None
        return None

    def _with_range(self, row: t.Price) -> t.PriceChoice:
        quotes = self.quotes(row.platform_id, row.kind, row.unit)
        values = [q.value for q in quotes if q.value is not None]
        dates = sorted(q.as_of for q in quotes if q.as_of)
        return t.PriceChoice(
            price_id=row.price_id,
            platform_id=row.platform_id,
            kind=row.kind,
            tier=row.tier,
            usd_per_gpu_h=row.value if row.value is not None else float("nan"),
            unit=row.unit,
            provider=row.provider,
            status=row.status,
            source=row.source,
            as_of=row.as_of,
            note=row.note,
            low=min(values),
            high=max(values),
            n_quotes=len(values),
            first_as_of=dates[0] if dates else "",
            last_as_of=dates[-1] if dates else "",
        )

    def token_prices(self) -> tuple[TokenPrice, ...]:
        """Prices by the token of hosted training services."""
        return self._token_prices

    def token_rates(self, service: str, llm: str) -> TokenRates | None:
        """Newest token prices of a model on a service; None when it has none. Never another model's."""
        return token_rates(self._token_prices, service, llm)

    def llm_names(self) -> dict[str, str]:
        """Models that a run may name, id -> name: those with a shape, then those with a token price only."""
        priced = {p.llm: p.model.rpartition("/")[2] for p in self._token_prices if p.llm not in self._llms}
        return {m.model_id: m.name for m in self._llms.values()} | priced

    def llm_id(self, name: str) -> str | None:
        """The id of a model by id, alias or a service's name for it, case ignored."""
        known = self.llm(name)
        if known is not None:
            return known.model_id
        wanted = name.strip().rpartition("/")[2].casefold()
        names = ((p, p.llm.casefold(), p.model.rpartition("/")[2].casefold()) for p in self._token_prices)
        return next((p.llm for p, *known_as in names if wanted in known_as), None)

    def llms(self) -> tuple[t.Llm, ...]:
        """Model shapes."""
        return tuple(self._llms.values())

    def llm(self, name: str) -> t.Llm | None:
        """Model by id or alias, case ignored."""
        return _by_name(self._llms, name)

    def benchmarks(self) -> tuple[t.Benchmark, ...]:
        """Benchmarks with their aliases."""
        return tuple(self._benchmarks.values())

    def benchmark(self, name: str) -> t.Benchmark | None:
        """Benchmark by id or alias (openai/gsm8k is gsm8k), case ignored."""
        return _by_name(self._benchmarks, name)

    def claims(self) -> tuple[t.Claim, ...]:
        """Claims, for scenarios only."""
        return self._claims

    def tco_default(self, name: str) -> t.TcoDefault | None:
        """One cost parameter; its value is None when nobody published it."""
        return self._tco.get(name)

    def tco_defaults(self) -> tuple[t.TcoDefault, ...]:
        """All cost parameters."""
        return tuple(self._tco.values())

    def rl_runs(self) -> tuple[t.RlRun, ...]:
        """Published RL measurements, the reference set."""
        return self._rl_runs


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """Load the catalogue, once a folder and process; raises CatalogueError naming file and line."""
    return _load(folder or FOLDER)


@functools.cache
def _load(folder: Path) -> Catalogue:
    platforms = _platforms(folder)
    prices = _prices(folder, platforms)
    return Catalogue(
        version=_version(folder),
        price_book_date=max((p.as_of for p in prices.values() if p.value is not None), default=""),
        _platforms=platforms,
        _facts=_facts(folder, platforms),
        _prices=prices,
        _llms=_named(folder / "llms.csv", t.Llm, "model_id"),
        _benchmarks=_named(folder / "benchmarks.csv", t.Benchmark, "benchmark_id"),
        _claims=_claims(folder, platforms),
        _tco=_tco(folder),
        _rl_runs=_rl_runs(folder, platforms),
        _token_prices=load_token_prices(folder),
    )


def _version(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _is_rent(row: t.Price) -> bool:
    return row.kind in t.RENT_KINDS and row.unit in t.RENT_UNITS and row.value is not None


def _by_name(rows: dict[str, _Named], name: str) -> _Named | None:
    wanted = name.strip().casefold()
    for key, row in rows.items():
        if wanted == key.casefold() or wanted in (a.casefold() for a in row.aliases):
            return row
    return None


def _platforms(folder: Path) -> dict[str, t.Platform]:
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


def _facts(folder: Path, platforms: dict[str, t.Platform]) -> dict[tuple[str, str], tuple[t.Fact, ...]]:
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


def _prices(folder: Path, platforms: dict[str, t.Platform]) -> dict[str, t.Price]:
    ids: dict[tuple[str, ...], str] = {}
    picks: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.Price) -> None:
        line.need("price_id")
        _known(line, row.platform_id, platforms)
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="as_of")
        unique(ids, (row.price_id,), line, "price id")
        if not row.unit.startswith("USD per "):
            raise line.refuse(f"unit {row.unit!r} is not in USD", "Convert it and name the rate in the note.")
        if row.value is not None and row.value <= 0:
            raise line.refuse(f"a price of {row.value:g} is not a price", "Leave it empty when unknown.")
        _check_tier(line, row)
        if row.tier:
            unique(picks, (row.platform_id, row.kind, row.tier, row.unit), line, "the price of")

    return {p.price_id: p for p in read_rows(folder / "prices.csv", t.Price, check)}


def _check_tier(line: Line, row: t.Price) -> None:
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


def _named(path: Path, kind: type[Any], key: str) -> dict[str, Any]:
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


def _claims(folder: Path, platforms: dict[str, t.Platform]) -> tuple[t.Claim, ...]:
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


def _tco(folder: Path) -> dict[str, t.TcoDefault]:
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: t.TcoDefault) -> None:
        line.need("parameter")
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="source_date")
        unique(seen, (row.parameter,), line, "parameter")

    return {r.parameter: r for r in read_rows(folder / "tco_defaults.csv", t.TcoDefault, check)}


def _rl_runs(folder: Path, platforms: dict[str, t.Platform]) -> tuple[t.RlRun, ...]:
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
