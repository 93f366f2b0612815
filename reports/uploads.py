"""One-time tokens for the upload route, and the progress of long work that several callers watch."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from data.errors import UserError
from data.readers import AmbiguousFormatError

TOKEN_TTL_S = 3_600.0
JOB_TTL_S = 3_600.0
_MOST_TOKENS = 10_000
UPLOAD = "upload"


class WorkCancelledError(Exception):
    """A person has cancelled this piece of work."""


@dataclass
class Job:
    """A piece of work in flight: stage in words, units done and in total, and how it ended."""

    id: str
    state: str = "running"
    stage: str = "waiting"
    done: int = 0
    total: int | None = None
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    started: float = field(default_factory=time.monotonic)
    cancelled: bool = False

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Take note of progress; WorkCancelledError once somebody has cancelled."""
        if self.cancelled:
            raise WorkCancelledError(self.id)
        self.stage, self.done, self.total = stage, done, total

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form that the page and the command line poll."""
        return {
            "job": self.id,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "answer": self.answer,
            "error": self.error,
            "elapsed_s": round(time.monotonic() - self.started, 1),
        }


_lock = threading.Lock()
_tokens: dict[str, tuple[str, int, float]] = {}
_jobs: dict[str, Job] = {}


def issue_token(purpose: str = UPLOAD, *, uses: int = 1, ttl_s: float = TOKEN_TTL_S) -> str:
    """Return a fresh token of this process that is good for `uses` requests of one purpose."""
    token = secrets.token_urlsafe(32)
    now = time.monotonic()
    with _lock:
        for old in [k for k, (_, _, until) in _tokens.items() if until < now]:
            del _tokens[old]
        while len(_tokens) >= _MOST_TOKENS:
            del _tokens[next(iter(_tokens))]
        _tokens[_digest(token)] = (purpose, uses, now + ttl_s)
    return token


def redeem_token(token: str, purpose: str = UPLOAD) -> bool:
    """Use a token up once; False when it is unknown, spent, expired or meant for something else."""
    key = _digest(token)
    with _lock:
        found = _tokens.get(key)
        if found is None or found[0] != purpose:
            return False
        if found[2] < time.monotonic():
            del _tokens[key]
            return False
        if found[1] <= 1:
            del _tokens[key]
        else:
            _tokens[key] = (found[0], found[1] - 1, found[2])
        return True


def original_url(upload_id: str) -> str:
    """Return the path from which this person may download an original once."""
    return f"/api/original/{upload_id}?token={issue_token(f'original:{upload_id}')}"


def start_job(job_id: str | None = None) -> Job:
    """Register a piece of work under an unguessable id, the caller's or a fresh one."""
    job = Job(job_id or secrets.token_urlsafe(16))
    now = time.monotonic()
    with _lock:
        for old in [k for k, j in _jobs.items() if j.state != "running" and now - j.started > JOB_TTL_S]:
            del _jobs[old]
        _jobs[job.id] = job
    return job


def find_job(job_id: str) -> Job | None:
    """Return a job by its id."""
    with _lock:
        return _jobs.get(job_id)


def cancel_job(job_id: str) -> bool:
    """Ask a job to stop at its next progress mark; False when it is unknown or over."""
    job = find_job(job_id)
    if job is None or job.state != "running":
        return False
    job.cancelled = True
    return True


def run_job(
    job: Job, work: Callable[[Callable[[str, int, int | None], None]], dict[str, Any]]
) -> dict[str, Any]:
    """Run `work(progress)` and keep how it ended; raises what it raises."""
    try:
        job.answer = work(job.progress)
    except WorkCancelledError:
        job.state = "cancelled"
        raise
    except BaseException as error:
        job.error = error_dict(error)
        job.state = "failed"
        raise
    job.state = "done"
    return job.answer


def error_dict(error: BaseException) -> dict[str, Any]:
    """Return what a person may read of an error: a refusal in full, anything else without its inside."""
    if isinstance(error, UserError):
        words: dict[str, Any] = {
            "kind": type(error).__name__,
            "what": error.what,
            "where": error.where,
            "remedy": error.remedy,
        }
        if isinstance(error, AmbiguousFormatError):
            words["candidates"] = [asdict(candidate) for candidate in error.candidates]
            words["preview"] = list(error.preview)
        if getattr(error, "prices", False):
            words["prices"] = True
        table = getattr(error, "table", None)
        if table is not None:
            words["table"] = table.to_dict()
        return words
    return {
        "kind": "InternalError",
        "what": "The app failed on this; nothing was stored",
        "where": "",
        "remedy": "The server's log names the cause.",
    }


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
