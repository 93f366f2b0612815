"""Telemetry = originals + decisions: take uploads back, replay, rebuild, recover after a crash."""

import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from data.arrival.spool import spool
from data.derive import BY_DETAILS, derive, derive_all, is_current, remember
from data.errors import UserError
from data.job_fold import unsplit
from data.join import CLOCK, FOLDER, Join
from data.load import TELEMETRY_END, write
from data.readers.base import Progress, no_progress
from data.receipt import Receipt
from data.run_details import apply_details, set_applied
from data.sql import number
from data.store import Store, connect
from data.tables import FILES_ONLY, columns, tables
from data.upload import choices_from, read_upload
from data.workspace import MONEY_KINDS, Decision

LOG = logging.getLogger(__name__)


def undo_upload(store: Store, upload_id: str, progress: Progress = no_progress) -> None:
    """Take one upload back: its rows go, what it shared with other uploads is replayed without it.

    Raises UserError when there is no such upload or an original that must be replayed is gone.
    """
    with store.exclusive():
        found = _uploads(store, "upload_id = ?", [upload_id])
        if not found:
            raise UserError(f"There is no upload {upload_id}", "undo", "Choose one from the list of uploads.")
        (sha256,) = found.values()
        _check_originals(store, _component(store, [upload_id]) - {upload_id})
        decision = store.workspace.decide("undo_upload", {"sha256": sha256}, upload_sha256=sha256)
        _take_back(store, [upload_id], decision.id, progress)


def remove_example(store: Store, progress: Progress = no_progress) -> int:
    """Take all synthetic uploads back; returns how many there were."""
    with store.exclusive():
        found = _uploads(store, "synthetic", [])
        if not found:
            return 0
        _check_originals(store, _component(store, found) - set(found))
        decision = store.workspace.decide("remove_example", {})
        _take_back(store, list(found), decision.id, progress)
        return len(found)


def rebuild(store: Store, progress: Progress = no_progress) -> list[str]:
    """Replay all decisions over the originals into a fresh database and put it in place in one move.

    Returns one sentence for each upload that could not be replayed (its original is gone or unreadable).
    """
    fresh = store.home / f"rebuild-{uuid4().hex}.duckdb"
    try:
        with store.exclusive():
            con = connect(fresh, store.home)
            try:
                problems = _replay(store, con, store.workspace.decisions(live_only=True), progress)
                with _Transaction(con):
                    remember(con)
                    set_applied(con, store.workspace.last_decision_id())
                con.execute("CHECKPOINT")
            finally:
                con.close()
            store.swap_database(fresh)
    finally:
        for path in (fresh, Path(f"{fresh}.wal")):
            path.unlink(missing_ok=True)
    return problems


def catch_up(store: Store, *, fresh: bool) -> None:
    """Bring the database in step with the decisions after a crash, a lost file or a restored workspace.

    What was done goes into `store.notices` and the log.
    """
    for path in store.home.glob("rebuild-*.duckdb*"):
        path.unlink()
    live = store.workspace.decisions(live_only=True)
    if fresh:
        if any(d.kind not in MONEY_KINDS for d in live):
            problems = rebuild(store)
            n = sum(1 for d in live if d.kind == "upload") - len(problems)
            _tell(store, [f"Telemetry was rebuilt from {n} original files.", *problems])
        return
    _remember_unacknowledged(store)
    behind = _behind(store, live)
    if not any((behind.gone, behind.todo, behind.rejoined)):
        return
    _tell(store, ["The last session ended in the middle of a change; it was completed."])
    if behind.gone:
        _take_back(store, behind.gone, store.workspace.last_decision_id(), no_progress)
    con = store.cursor()
    try:
        _tell(store, _replay(store, con, behind.todo, no_progress))
    finally:
        con.close()
    if behind.rejoined:
        again = [*behind.rejoined, *uploads_of(store, behind.targets)]
        replay_again(store, again, store.workspace.last_decision_id(), no_progress)
    with store.transaction() as con:
        set_applied(con, store.workspace.last_decision_id())


def derive_if_older(store: Store) -> None:
    """Derive an older home anew, such as one whose scheduler jobs were no attempts yet; says so."""
    con = store.cursor()
    try:
        current = is_current(con)
    finally:
        con.close()
    if not current:
        with store.transaction() as con:
            derive_all(con)
        _tell(store, ["An older version wrote this home: its attempts and costs were derived anew."])


@dataclass(frozen=True)
class _Behind:
    """What was decided and is not in the database: ids of uploads taken back and of moved ones, decisions to
    apply, and the runs that moved uploads belong to now."""

    gone: list[str]
    todo: list[Decision]
    rejoined: list[str]
    targets: list[str | None]


def _behind(store: Store, live: Sequence[Decision]) -> _Behind:
    with store.view() as view:
        loaded = {sha: uid for uid, sha in view.rows("SELECT upload_id, sha256 FROM uploads")}
        row = view.rows("SELECT value FROM meta WHERE key = 'last_decision'")
    applied = int(row[0][0]) if row else 0
    decided = {d.upload_sha256 for d in store.workspace.decisions(live_only=True) if d.kind == "upload"}
    absent = decided - set(loaded)
    moved = {
        d.upload_sha256
        for d in store.workspace.decisions()
        if d.kind in ("join", "undo_join") and d.id > applied
    }
    return _Behind(
        gone=[uid for sha, uid in loaded.items() if sha not in decided],
        todo=[
            d
            for d in live
            if (d.kind == "upload" and d.upload_sha256 in absent)
            or (d.kind == "run_details" and d.id > applied)
        ],
        rejoined=[uid for sha, uid in loaded.items() if sha in moved and sha in decided],
        targets=[d.run for d in live if d.kind == "join" and d.id > applied],
    )


def uploads_of(store: Store, runs: Sequence[str | None]) -> list[str]:
    """Ids of the uploads that hold something of these runs."""
    with store.view() as view:
        rows = view.rows(
            "SELECT DISTINCT upload_id FROM upload_links WHERE kind = 'run' AND name IN "
            "(SELECT unnest(?::VARCHAR[]))",
            [list(runs)],
        )
    return [str(upload) for (upload,) in rows]


def _remember_unacknowledged(store: Store) -> None:
    """Rows that were committed just before a crash get the decision that was about to be written."""
    every = {d.upload_sha256 for d in store.workspace.decisions() if d.kind == "upload"}
    with store.view() as view:
        rows = view.rows(
            "SELECT sha256, name, choices, format, uploaded_at, receipt FROM uploads ORDER BY uploaded_at"
        )
    for sha256, name, choices, kind, at, receipt in rows:
        if sha256 not in every:
            payload = {"sha256": sha256, "name": name, "choices": json.loads(choices), "format": kind}
            payload |= made_by_itself(Receipt.from_dict(json.loads(receipt)))
            live_decision = store.workspace.decide("upload", payload, upload_sha256=sha256, at=at)
            LOG.warning("upload %s was committed without its decision %s", name, live_decision.id)


def _tell(store: Store, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        LOG.warning(sentence)
        store.notices.append(sentence)


def _uploads(store: Store, where: str, params: list[str]) -> dict[str, str]:
    with store.view() as view:
        return dict(view.rows(f"SELECT upload_id, sha256 FROM uploads WHERE {where}", params))


def _component(store: Store, seeds: Iterable[str]) -> set[str]:
    """The uploads that share runs, GPUs or evaluations with `seeds`, directly or through others."""
    with store.view() as view:
        pairs = view.rows("SELECT upload_id, kind || ':' || name FROM upload_links")
    by_upload: dict[str, set[str]] = {}
    by_name: dict[str, set[str]] = {}
    for upload, name in pairs:
        by_upload.setdefault(upload, set()).add(name)
        by_name.setdefault(name, set()).add(upload)
    reached, queue = set(seeds), list(seeds)
    while queue:
        for name in by_upload.get(queue.pop(), ()):
            fresh = by_name[name] - reached
            reached |= fresh
            queue += fresh
    return reached


def _check_originals(store: Store, upload_ids: Iterable[str]) -> None:
    wanted = set(upload_ids)
    for upload_id, sha256 in _uploads(store, "true", []).items():
        if upload_id in wanted and not store.original(sha256).exists():
            raise UserError(
                f"The original of upload {upload_id} is gone, so its rows could not be restored",
                str(store.original(sha256)),
                "Put the file back into originals/, or undo that upload as well.",
            )


def replay_again(store: Store, upload_ids: Sequence[str], decision_id: int, progress: Progress) -> None:
    """Read uploads, and those that share something with them, again under the decisions in force."""
    component = _component(store, upload_ids)
    _check_originals(store, component)
    _take_back(store, list(component), decision_id, progress, gone=())


def _take_back(
    store: Store,
    upload_ids: Sequence[str],
    decision_id: int,
    progress: Progress,
    gone: Sequence[str] | None = None,
) -> None:
    component = _component(store, upload_ids)
    hashes = _uploads(store, "true", [])
    replayed = {hashes[u] for u in component - set(upload_ids if gone is None else gone)}
    with store.transaction() as con:
        runs = _delete(con, sorted(component))
        todo = [
            d
            for d in store.workspace.decisions(live_only=True)
            if (d.kind == "upload" and d.upload_sha256 in replayed)
            or (d.kind == "run_details" and d.run in runs)
        ]
        for index, decision in enumerate(todo):
            progress("replay", index, len(todo))
            _apply(store, con, decision)
        derive(con, [])
        con.execute(TELEMETRY_END)
        set_applied(con, decision_id)


def _delete(con: duckdb.DuckDBPyConnection, upload_ids: list[str]) -> set[str]:
    """Delete a closed set of uploads and all that was derived from them; returns the runs they had."""
    mine = "(SELECT unnest(?::VARCHAR[]))"
    linked = con.execute(
        f"SELECT DISTINCT kind, name FROM upload_links WHERE upload_id IN {mine}", [upload_ids]
    ).fetchall()
    names = {kind: [n for k, n in linked if k == kind] for kind in ("run", "gpu")}
    unsplit(con)
    for table in ("runs", "attempts", "allocations", "run_settings", "job_attempts"):
        con.execute(f"DELETE FROM {table} WHERE run IN {mine}", [names["run"]])
    con.execute(f"DELETE FROM checkpoints WHERE upload_id = ? AND run IN {mine}", [BY_DETAILS, names["run"]])
    for table in ("gpu_minutes", "gpu_coverage"):
        con.execute(f"DELETE FROM {table} WHERE gpu_id IN {mine}", [names["gpu"]])
    con.execute("DELETE FROM gpu_parts WHERE list_has_any(gpu_ids, ?::VARCHAR[])", [names["gpu"]])
    for table in tables():
        if "upload_id" in columns(table) and table not in FILES_ONLY:
            con.execute(f"DELETE FROM {table} WHERE upload_id IN {mine}", [upload_ids])
    return set(names["run"])


def _replay(
    store: Store, con: duckdb.DuckDBPyConnection, decisions: Sequence[Decision], progress: Progress
) -> list[str]:
    """Apply decisions in order, each in its own transaction; one sentence for each that failed."""
    problems: list[str] = []
    for index, decision in enumerate(decisions):
        progress("replay", index, len(decisions))
        try:
            with _Transaction(con):
                _apply(store, con, decision)
        except (UserError, OSError) as error:
            problems.append(f"{decision.payload.get('name', decision.run)} could not be replayed: {error}")
    return problems


def _apply(store: Store, con: duckdb.DuckDBPyConnection, decision: Decision) -> None:
    if decision.kind == "run_details":
        apply_details(con, decision.payload)
    elif decision.kind == "upload":
        _replay_upload(store, con, decision)


def made_by_itself(receipt: Receipt) -> dict[str, Any]:
    """What the decision to load a file remembers of a join that was made without asking."""
    for joined in receipt.joins:
        if joined["by"] in (CLOCK, FOLDER):
            return {"join": dict(joined)}
    return {}


def join_in_force(
    con: duckdb.DuckDBPyConnection, decision: Decision, live: Sequence[Decision]
) -> Join | None:
    """The join of an upload when it is replayed: a person's last word, else the one made by itself.

    A run name given when the file was read again is a later word. A join made by itself holds while the logs
    of its run that were loaded earlier are there.
    """
    said = [d for d in live if d.kind == "join" and d.upload_sha256 == decision.upload_sha256]
    if said and (said[-1].id > decision.id or not (decision.payload.get("choices") or {}).get("run")):
        return Join.of(said[-1].payload)
    if "join" not in decision.payload:
        return None
    join = Join.of(decision.payload["join"])
    earlier = [
        d.upload_sha256 for d in live if d.kind == "upload" and d.id < decision.id and "join" not in d.payload
    ]
    logs = number(
        con,
        "SELECT count(*) FROM attempt_sources s JOIN uploads u USING (upload_id) "
        "WHERE s.run = ? AND u.sha256 IN (SELECT unnest(?::VARCHAR[]))",
        [join.run, earlier],
    )
    return join if logs else None


def _replay_upload(store: Store, con: duckdb.DuckDBPyConnection, decision: Decision) -> None:
    work = store.spool / uuid4().hex
    join = join_in_force(con, decision, store.workspace.decisions(live_only=True))
    choices = choices_from(decision.payload)
    try:
        original = store.original(str(decision.upload_sha256))
        source = spool(original, str(decision.payload["name"]), work)
        if source.sha256 != decision.upload_sha256:
            raise UserError("The original has changed on disk", str(original), "Restore it from a backup.")
        upload = read_upload(
            source,
            join.choices(choices) if join else choices,
            work,
            decision.at,
            known_format=decision.payload.get("format"),
        )
        write(con, store.parts, replace(upload, choices=choices), join=join)
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Transaction:
    """BEGIN … COMMIT on a connection that nobody else writes to; ROLLBACK when the block raises."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def __enter__(self) -> None:
        self._con.execute("BEGIN")

    def __exit__(self, kind: object, *_: object) -> None:
        self._con.execute("COMMIT" if kind is None else "ROLLBACK")
