"""A person says which run an upload belongs to; the word is kept, replayed, and can be taken back."""

from dataclasses import asdict, dataclass
from typing import Any

from data.errors import UserError
from data.join import NEW_ATTEMPT, Join
from data.readers.base import Progress, no_progress
from data.rebuild import replay_again, uploads_of
from data.run_details import missing_for_cost
from data.store import Store

LONGEST_NAME = 200


@dataclass(frozen=True)
class Target:
    """An upload that was named by its id, the start of its id, or its file name."""

    upload_id: str
    sha256: str
    name: str


def find_target(store: Store, upload: str) -> Target:
    """The one upload that `upload` names. Raises UserError when there is none or when there are several."""
    with store.view() as view:
        rows = view.rows(
            "SELECT upload_id, sha256, name FROM uploads WHERE upload_id = $given OR name = $given "
            "OR (length($given) >= 6 AND starts_with(upload_id, $given)) ORDER BY uploaded_at DESC",
            {"given": upload},
        )
    if len(rows) == 1:
        return Target(*rows[0])
    if not rows:
        raise UserError(
            f"There is no upload {upload}", "join", "Give the upload id of its receipt, or its file name."
        )
    ids = ", ".join(str(row[0]) for row in rows[:5])
    raise UserError(f"{len(rows)} uploads are called {upload}", "join", f"Give an upload id: {ids}.")


def join_upload(
    store: Store,
    upload: str,
    run: str | None,
    attempt: int | str | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Tie an upload to a run (an existing or a new name) or, with None, to no run; returns its new receipt.

    `attempt`: a number, "new" for one of its own, None to let the rows decide. Everything the upload shares
    rows with is replayed. Raises UserError, and changes nothing, when its rows cannot belong there.
    """
    name = run.strip() if run is not None else None
    if name == "" or (name is not None and len(name) > LONGEST_NAME):
        raise UserError(
            "This is no name of a run", "run", f"Give 1 to {LONGEST_NAME} characters, or no run at all."
        )
    if isinstance(attempt, str) and attempt != NEW_ATTEMPT:
        raise UserError(f"{attempt} is no attempt", "attempt", f"Give a number from 1, or {NEW_ATTEMPT}.")
    if isinstance(attempt, int) and not 1 <= attempt <= 100_000:
        raise UserError(f"{attempt} is no attempt", "attempt", f"Give a number from 1, or {NEW_ATTEMPT}.")
    if name is None and attempt is not None:
        raise UserError("An attempt needs a run", "attempt", "Name the run, or leave the attempt out.")
    with store.exclusive():
        target = find_target(store, upload)
        join = Join(name, attempt, why="you said so" if name else "you said it belongs to no run")
        _decide(store, target, "join", {"sha256": target.sha256, **join.payload()}, name, progress)
    return _receipt(store, target)


def undo_join(store: Store, upload: str, progress: Progress = no_progress) -> dict[str, Any]:
    """Take a person's last word on an upload's run back; returns its receipt as it is then."""
    with store.exclusive():
        target = find_target(store, upload)
        if last_join(store, target.sha256) is None:
            raise UserError("Nobody has joined this upload by hand", target.name, "There is nothing to undo.")
        _decide(store, target, "undo_join", {"sha256": target.sha256}, None, progress)
    return _receipt(store, target)


def last_join(store: Store, sha256: str) -> Join | None:
    """A person's word in force on the run of an upload."""
    said = [
        d for d in store.workspace.decisions(live_only=True) if d.kind == "join" and d.upload_sha256 == sha256
    ]
    return Join.of(said[-1].payload) if said else None


def _decide(
    store: Store, target: Target, kind: Any, payload: dict[str, Any], run: str | None, progress: Progress
) -> None:
    """Decide and replay in one: a refused replay takes the decision back."""
    before = _runs_of(store, target)
    decision = store.workspace.decide(kind, payload, upload_sha256=target.sha256, run=run)
    also = [u for u in uploads_of(store, [run]) if u != target.upload_id] if run else []
    if kind == "undo_join":
        also = uploads_of(store, before)
    try:
        replay_again(store, [target.upload_id, *also], decision.id, progress)
    except BaseException:
        if kind == "join":
            store.workspace.decide("undo_join", payload, upload_sha256=target.sha256)
        raise


def _runs_of(store: Store, target: Target) -> list[str]:
    with store.view() as view:
        rows = view.rows(
            "SELECT name FROM upload_links WHERE kind = 'run' AND upload_id = ?", [target.upload_id]
        )
    return [str(name) for (name,) in rows]


def _receipt(store: Store, target: Target) -> dict[str, Any]:
    """The stored receipt; what dollars lack is as of now, since a replay writes it before the run details."""
    from data.ingest import find_upload

    found = find_upload(store, target.sha256)
    if found is None:
        raise RuntimeError(f"upload {target.upload_id} vanished in its own replay")
    lacking = tuple(asdict(one) for run in found.runs for one in missing_for_cost(store, run))
    return found.with_(missing_for_cost=lacking).to_dict()
