"""Run details: what a person says about a run that no file knows, and what a dollar figure still lacks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import duckdb
from pydantic import BaseModel, ConfigDict, Field, model_validator

from data.catalogue import Catalogue, load_catalogue
from data.catalogue_types import CORE_UNIT, RENT_UNITS
from data.derive import BY_DETAILS, FIRST_LOGGED, derive
from data.errors import UserError
from data.facts_base import gpu_number
from data.job_details import job_hints, model_words
from data.readers.base import Choices
from data.resumption import check_resumed
from data.services import METERED_SERVICES
from data.sql import first
from data.view import View

if TYPE_CHECKING:
    from data.store import Store

Role = Literal["train", "rollout", "colocated", "judge", "sandbox"]
Algorithm = Literal["grpo", "ppo", "dpo", "sft", "distill", "other"]
Mode = Literal["sync", "one_step_off", "async"]
Status = Literal["running", "completed", "failed", "cancelled", "unknown"]


FILES, SCHEDULER = "files", "scheduler"


class PoolDetails(BaseModel):
    """One pool: GPUs of a platform or CPU cores, for the whole attempt unless `seconds` is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pool: str = Field(min_length=1, max_length=80)
    role: Role
    platform: str | None = None
    gpus: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    cores: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    price_id: str | None = None
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _has_size(self) -> "PoolDetails":
        if self.gpus is None and self.cores is None:
            raise ValueError(f"pool {self.pool}: give its GPUs, or its cores")
        return self


class RunDetails(BaseModel):
    """Everything a person decided about one run; a later RunDetails of the run replaces an earlier one.

    `status` overrides what files say, by attempt number, and so does `resumed`: the step that an attempt
    resumed from, 0 for a start from nothing. `start_checkpoint`: what the money started from, a checkpoint
    that is not the run's own, or FIRST_LOGGED. None leaves a cell to the files.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = Field(min_length=1)
    campaign: str | None = None
    team: str | None = None
    llm: str | None = None
    algorithm: Algorithm | None = None
    mode: Mode | None = None
    pools: tuple[PoolDetails, ...] = ()
    status: Mapping[int, Status] = Field(default_factory=dict)
    resumed: Mapping[int, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    note: str | None = None
    start_checkpoint: str | None = None

    @model_validator(mode="after")
    def _pools_differ(self) -> "RunDetails":
        names = [p.pool for p in self.pools]
        if len(set(names)) != len(names):
            raise ValueError("two pools have the same name")
        return self


@dataclass(frozen=True)
class Suggestion:
    """An inferred run detail, and the sentence that says how it was inferred.

    `source`: FILES, or SCHEDULER where the accounting of the run's jobs says it.
    """

    field: str
    value: Any
    how: str
    source: str = FILES


@dataclass(frozen=True)
class Missing:
    """What a run lacks for dollars: `field` is gpus, platform or time; where tokens are paid, llm or tokens.

    `proposal` of gpus is a number, or GPUs by pool where the files know pools: {"train": 32, "rollout": 16}.
    """

    run: str
    field: str
    text: str
    proposal: Any = None
    how: str | None = None


def save_details(store: "Store", details: RunDetails) -> None:
    """Decide and apply run details: all attempts of the run, present and future, get these pools.

    Raises UserError for an unknown run, platform, model or price, naming the valid ones.
    """
    with store.exclusive():
        with store.view() as view:
            known = [name for (name,) in view.rows("SELECT run FROM runs ORDER BY run")]
            catalogue = view.catalogue
        if details.run not in known:
            raise UserError(
                f"There is no run {details.run}", "run details", f"Choose one of: {_listed(known)}."
            )
        check_details(details, catalogue)
        _check_start(store, details)
        check_resumed(store, details.run, details.resumed)
        payload = details.model_dump(mode="json", exclude_none=True)
        decision = store.workspace.decide("run_details", payload, run=details.run)
        with store.transaction() as con:
            apply_details(con, payload)
            set_applied(con, decision.id)


def current_details(source: "Store | View", run: str) -> RunDetails:
    """The run details in force, blank ones when nothing was decided."""
    rows = _rows(source, "SELECT details FROM run_settings WHERE run = ?", [run])
    found = json.loads(rows[0][0]) if rows else {}
    return RunDetails.model_validate(
        {k: v for k, v in found.items() if k in RunDetails.model_fields} | {"run": run}
    )


def start_choices(source: "Store | View", run: str) -> list[str]:
    """What `start_checkpoint` of a run may be: FIRST_LOGGED, baselines, then checkpoints of other runs;
    those of the made-up example only for its own runs, and the other way round.
    """
    rows = _rows(source, _OTHER_CHECKPOINTS, {"run": run, "by": BY_DETAILS})
    return [FIRST_LOGGED, *(name for (name,) in rows)]


_OTHER_CHECKPOINTS = """
SELECT c.checkpoint FROM checkpoints c LEFT JOIN uploads u USING (upload_id)
WHERE c.run IS DISTINCT FROM $run AND c.upload_id <> $by
    AND coalesce(u.synthetic, false) = coalesce((SELECT synthetic FROM runs WHERE run = $run), false)
ORDER BY c.run IS NOT NULL, c.run, c.step, c.checkpoint
"""


def _check_start(store: "Store", details: RunDetails) -> None:
    if details.start_checkpoint is None:
        return
    valid = start_choices(store, details.run)
    if details.start_checkpoint not in valid:
        raise UserError(
            f"There is no checkpoint {details.start_checkpoint} outside this run",
            "started from",
            f"Load its evaluation first, or choose one of: {_listed(valid)}.",
        )


def missing_for_cost(source: "Store | View", run: str) -> list[Missing]:
    """What a dollar figure of `run` still lacks, with a proposal where the files allow one."""
    return missing(lambda sql, params: _rows(source, sql, params), run)


def proposals(source: "Store | View", run: str) -> list[Suggestion]:
    """What the files let us infer about a run, newest upload first, and what its scheduler jobs held."""
    return _proposed(lambda sql, params: _rows(source, sql, params), run)


def _proposed(rows: Any, run: str) -> list[Suggestion]:
    """`proposals` over a function (sql, params) -> tuples.

    GPUs that the scheduler gave are those that are paid: they win over what a log counts, which is told
    beside them; pools of a log are kept. The name that a driver reports wins over the scheduler's.
    """
    found = {name: Suggestion(name, json.loads(value), how) for name, value, how in rows(_PROPOSALS, [run])}
    for name, value, how in job_hints(rows, run, load_catalogue()):
        pools = [f for f in ("gpus_train", "gpus_rollout") if f in found] if name == "gpus" else []
        for pool in pools:
            found[pool] = replace(found[pool], how=f"{found[pool].how}; in all, by the scheduler, {how}")
        before = found.get(name)
        if pools or (before is not None and name == "platform"):
            continue
        if before is not None:
            says = "the same" if before.value == value else gpu_number(before.value)
            how = f"{how}; the log says {says}: {before.how}"
        found[name] = Suggestion(name, value, how, SCHEDULER)
    return [found[name] for name in sorted(found)]


_PROPOSALS = """
SELECT p.field, arg_max(p.value, s.seq), arg_max(p.how, s.seq)
FROM proposals p JOIN run_sources s USING (upload_id, run) WHERE p.run = ? GROUP BY p.field ORDER BY p.field
"""


def check_details(details: RunDetails, catalogue: Catalogue) -> None:
    """Raise UserError for ids that the catalogue does not know or that do not fit together."""
    check_ids(catalogue, details.llm, [p.platform for p in details.pools])
    for pool in details.pools:
        if pool.price_id is None:
            continue
        price = catalogue.price_by_id(pool.price_id)
        place = f"pool {pool.pool}"
        if price is None:
            valid = [p.price_id for p in catalogue.prices() if p.platform_id == pool.platform]
            known = catalogue.versions_of(pool.price_id)
            what = (
                catalogue.why_no_price_id(pool.price_id).rstrip(".")
                if known
                else f"There is no price {pool.price_id}"
            )
            raise UserError(what, place, f"Choose one of: {_listed(valid)}.")
        units = RENT_UNITS if pool.gpus is not None else (CORE_UNIT,)
        if price.platform_id != pool.platform or price.unit not in units:
            raise UserError(
                f"Price {pool.price_id} is {price.unit} of {price.platform_id}",
                place,
                f"Choose a price in {units[0]} of platform {pool.platform}.",
            )


def check_ids(catalogue: Catalogue, llm: str | None, platforms: Iterable[str | None]) -> None:
    """Raise UserError for a model or platform that the catalogue does not know."""
    if llm is not None and catalogue.llm_id(llm) is None:
        valid = list(catalogue.llm_names())
        raise UserError(
            f"There is no model {llm} in the catalogue", "llm", f"Choose one of: {_listed(valid)}."
        )
    for platform in platforms:
        if platform is not None and catalogue.platform(platform) is None:
            valid = [p.platform_id for p in catalogue.platforms()]
            raise UserError(
                f"There is no platform {platform}", "platform", f"Choose one of: {_listed(valid)}."
            )


def apply_details(con: duckdb.DuckDBPyConnection, payload: Mapping[str, Any]) -> None:
    """Put run details in force inside the caller's transaction."""
    run = str(payload["run"])
    kept = {k: v for k, v in _settings(con, run).items() if k == "platform"} if payload.get("pools") else {}
    _put(con, run, {**kept, **payload}, "run_details")
    derive(con, [run])


def apply_choices(con: duckdb.DuckDBPyConnection, runs: Sequence[str], choices: Choices) -> None:
    """Details given with an upload: cells that are given override earlier ones of these runs."""
    given = choices_details(choices)
    if not given:
        return
    for run in runs:
        row = first(con, "SELECT origin FROM run_settings WHERE run = ?", [run])
        before = _settings(con, run)
        after = before | given
        if "platform" in given and "pools" not in given and before.get("pools"):
            after["pools"] = [p | {"platform": given["platform"]} for p in before["pools"]]
        _put(con, run, after | {"run": run}, row[0] if row else "upload")


def choices_details(choices: Choices) -> dict[str, Any]:
    """Run details hidden in the choices of an upload; UserError when the numbers make no sense."""
    sizes = {"all": choices.gpus, "train": choices.gpus_train, "rollout": choices.gpus_rollout}
    for name, gpus in sizes.items():
        if gpus is not None and gpus <= 0:
            raise UserError(f"{gpus} GPUs ({name}) is not a number of GPUs", "", "Give a number above 0.")
    if choices.gpus is not None and (choices.gpus_train is not None or choices.gpus_rollout is not None):
        raise UserError(
            "GPUs were given as one pool and as two", "", "Give gpus, or gpus_train and gpus_rollout."
        )
    roles = {"all": "colocated", "train": "train", "rollout": "rollout"}
    pools = [
        {"pool": name, "role": roles[name], "platform": choices.platform, "gpus": float(gpus)}
        for name, gpus in sizes.items()
        if gpus is not None
    ]
    found: dict[str, Any] = {"campaign": choices.campaign, "llm": choices.llm, "platform": choices.platform}
    found["pools"] = pools or None
    return {k: v for k, v in found.items() if v is not None}


def missing(rows: Any, run: str) -> list[Missing]:
    """`missing_for_cost` over a function (sql, params) -> tuples."""
    pools = rows(
        "SELECT attempt, pool, role, platform, gpus, cores, seconds FROM allocations WHERE run = ?", [run]
    )
    without = rows(
        "SELECT attempt FROM attempts WHERE run = ? AND attempt NOT IN "
        "(SELECT attempt FROM allocations WHERE run = ?) ORDER BY attempt",
        [run, run],
    )
    inferred = {s.field: (s.value, s.how) for s in _proposed(rows, run)}
    head = rows("SELECT framework, llm FROM runs WHERE run = ?", [run])
    if not pools and head and head[0][0] in METERED_SERVICES:
        framework, llm = head[0]
        return _metered_missing(rows, run, framework, llm, inferred)
    platform = rows("SELECT details->>'platform' FROM run_settings WHERE run = ?", [run])
    found: list[Missing] = []
    if without or not pools or any(gpus is None and cores is None for *_, gpus, cores, _ in pools):
        value, how = _inferred_gpus(inferred)
        whole = value is not None and not (isinstance(value, float) and value != int(value))
        found.append(Missing(run, "gpus", _GPUS_PROPOSED if whole else _GPUS_TEXT, value, how))
    known_platform = bool(platform and platform[0][0]) if not pools else all(p[3] for p in pools)
    if not known_platform:
        value, how = inferred.get("platform", (None, None))
        why_not = "" if value else model_words(rows, run, load_catalogue())
        text = _PLATFORM_PROPOSED if value else f"{_PLATFORM_TEXT} {why_not}".rstrip()
        found.append(Missing(run, "platform", text, value, how))
    timed = rows("SELECT elapsed_s FROM attempts WHERE run = ?", [run])
    untimed = any(seconds is None for *_, seconds in pools) if pools else any(s is None for (s,) in timed)
    if untimed or (not pools and not timed):
        found.append(Missing(run, "time", _TIME_TEXT))
    return found


def _metered_missing(
    rows: Any, run: str, framework: str, llm: str | None, inferred: Mapping[str, tuple[Any, str]]
) -> list[Missing]:
    """What a bill by the token lacks: the model, its price, or the tokens."""
    service = METERED_SERVICES[framework]
    found: list[Missing] = []
    if llm is None:
        text = f"{service} is paid by the token: choose the model that was trained, its price depends on it."
        found.append(Missing(run, "llm", text, *inferred.get("llm", (None, None))))
    elif load_catalogue().token_rates(framework, llm) is None:
        found.append(Missing(run, "llm", f"The price book has no token price of {service} for {llm}."))
    told = rows("SELECT count(coalesce(tok_trained, tok_total, tok_gen)) FROM steps WHERE run = ?", [run])
    if not told[0][0]:
        text = f"No file says how many tokens {service} processed: load the run's metrics.jsonl."
        found.append(Missing(run, "tokens", text))
    return found


def _inferred_gpus(inferred: Mapping[str, tuple[Any, str]]) -> tuple[Any, str | None]:
    """GPUs of the run, or by pool ({"train": n, "rollout": n}) where the files know pools, and how."""
    pools = {role: inferred[f"gpus_{role}"] for role in ("train", "rollout") if f"gpus_{role}" in inferred}
    if len(pools) == 2 or (pools and "gpus" not in inferred):
        return {role: value for role, (value, _) in pools.items()}, "; ".join(
            dict.fromkeys(how for _, how in pools.values())
        )
    return inferred.get("gpus", (None, None))


_GPUS_TEXT = "The files do not say how many GPUs the run held: give its pools."
_GPUS_PROPOSED = "Say how many GPUs the run held: what the files propose counts once it is saved."
_PLATFORM_PROPOSED = "Say on which platform it ran: what the files propose counts once it is saved."
_PLATFORM_TEXT = "The files do not say on which platform it ran: choose one."
_TIME_TEXT = "No file says how long it ran: load a log with step times, or give the pools their seconds."


def set_applied(con: duckdb.DuckDBPyConnection, decision_id: int) -> None:
    """Remember that decisions up to this one are in the database."""
    con.execute("DELETE FROM meta WHERE key = 'last_decision'")
    con.execute("INSERT INTO meta VALUES ('last_decision', ?)", [str(decision_id)])


def _settings(con: duckdb.DuckDBPyConnection, run: str) -> dict[str, Any]:
    row = first(con, "SELECT details FROM run_settings WHERE run = ?", [run])
    return dict(json.loads(row[0])) if row else {}


def _put(con: duckdb.DuckDBPyConnection, run: str, details: Mapping[str, Any], origin: str) -> None:
    con.execute("DELETE FROM run_settings WHERE run = ?", [run])
    con.execute(
        "INSERT INTO run_settings VALUES (?, ?, ?)", [run, json.dumps(dict(details), sort_keys=True), origin]
    )


def _rows(source: "Store | View", sql: str, params: list[Any] | dict[str, Any]) -> list[tuple[Any, ...]]:
    if isinstance(source, View):
        return source.rows(sql, params)
    with source.view() as view:
        return view.rows(sql, params)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:20])
    return f"{shown}, …" if len(names) > 20 else shown or "none is known"
