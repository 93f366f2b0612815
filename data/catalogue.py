"""The catalogue: hardware, prices, models, benchmarks, claims and published RL runs, each with its source."""

import functools
import hashlib
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

from data import catalogue_load as load
from data import catalogue_types as t
from data.catalogue_prices import PriceLookups
from data.catalogue_services import ServicePrice, load_service_prices
from data.catalogue_tokens import TokenPrice, TokenRates, token_prices, token_rates
from data.money.currency import Rate

FOLDER = Path(__file__).parent / "catalog"
_Named = TypeVar("_Named", t.Llm, t.Benchmark)


@dataclass(frozen=True)
class Catalogue(PriceLookups):
    """A loaded catalogue; build it with `load_catalogue`. `version` is a hash of the content.

    What people decided about prices lies on top once it is `pinned`: `version` then names the newest of these
    decisions as well, and `day` is the day on which prices are looked up.
    """

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
    _services: tuple[ServicePrice, ...]
    _token_prices: tuple[TokenPrice, ...]
    _versions: dict[str, tuple[t.Price, ...]] = field(default_factory=dict)
    _rates: tuple[Rate, ...] = ()
    day: date | None = None
    dated: bool = False

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

    def service_prices(self) -> tuple[ServicePrice, ...]:
        """Prices and billing rules of hosted training services, all of them."""
        return self._services

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
    platforms = load.platforms(folder)
    prices = load.prices(folder, platforms)
    services = load_service_prices(folder, platforms)
    return Catalogue(
        version=_version(folder),
        price_book_date=max((p.as_of for p in prices.values() if p.value is not None), default=""),
        _platforms=platforms,
        _facts=load.facts(folder, platforms),
        _prices=prices,
        _llms=load.named(folder / "llms.csv", t.Llm, "model_id"),
        _benchmarks=load.named(folder / "benchmarks.csv", t.Benchmark, "benchmark_id"),
        _claims=load.claims(folder, platforms),
        _tco=load.tco(folder),
        _rl_runs=load.rl_runs(folder, platforms),
        _services=services,
        _token_prices=token_prices(services),
    )


def _version(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _by_name(rows: dict[str, _Named], name: str) -> _Named | None:
    wanted = name.strip().casefold()
    for key, row in rows.items():
        if wanted == key.casefold() or wanted in (a.casefold() for a in row.aliases):
            return row
    return None
