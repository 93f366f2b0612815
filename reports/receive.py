"""The upload route: a file streams in, a worker thread ingests it, the receipt comes back."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from data.errors import UserError
from data.readers.base import Choices, Progress
from reports.choices import choices_from
from reports.uploads import (
    Job,
    WorkCancelledError,
    cancel_job,
    error_dict,
    find_job,
    redeem_token,
    run_job,
    start_job,
)

CHUNK_SECONDS = 30.0
WORKERS = 4
DEFAULT_LIMIT_MB = 4_096
SPACE_FACTOR = 2
NAME_LIMIT = 255
JOB_LIMIT = 100
Ingest = Callable[[Path, str, Choices, Progress], dict[str, Any]]
Original = Callable[[str], tuple[Path, str] | None]
Pusher = Callable[[str], bool]
"""Says whether the secret of a push token is live."""
_OWN_PARAMETERS = frozenset({"token", "name", "job", "choices"})
_COUNTS = frozenset({"gpus", "gpus_train", "gpus_rollout", "step"})


class RefusedError(Exception):
    """A request is refused with a status and an error that says what to do."""

    def __init__(self, status: int, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.status = status
        self.body = {"kind": "Refused", "what": what, "where": where, "remedy": remedy}


def size_limit_bytes() -> int:
    """Return the largest upload taken: IPD_MAX_UPLOAD_MB, default 4096 MB."""
    return int(os.environ.get("IPD_MAX_UPLOAD_MB") or DEFAULT_LIMIT_MB) * 1_000_000


class Uploads:
    """The endpoints of uploads. `spool` is the folder of files in flight, which start-up sweeps."""

    def __init__(
        self, spool: Callable[[], Path], ingest: Ingest, original: Original, pusher: Pusher | None = None
    ) -> None:
        self.spool = spool
        self.pusher = pusher
        self.ingest = ingest
        self.original = original
        self.limiter = CapacityLimiter(WORKERS)

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/api/telemetry", self.receive, methods=["POST"]),
            Route("/api/telemetry/progress", self.progress, methods=["GET"]),
            Route("/api/telemetry/cancel", self.cancel, methods=["POST"]),
            Route("/api/original/{upload_id}", self.download, methods=["GET"]),
        ]

    async def receive(self, request: Request) -> Response:
        """Take one file: 200 with its receipt; 401, 408, 409, 413, 422 or 507 with an error that says why."""
        refused = await to_thread.run_sync(self._stranger, request)
        if refused is not None:
            return refused
        job: Job | None = None
        try:
            name, choices = _file_name(request), _choices(request)
            job = _job(request)
            return JSONResponse(await self._take(request, job, name, choices))
        except RefusedError as refusal:
            return _finish(job, refusal.status, refusal.body)
        except ClientDisconnect:
            return _finish(job, 400, _body("The sender went away; nothing was stored"))
        except WorkCancelledError as error:
            notes = getattr(error, "__notes__", None) or ["nothing was stored"]
            return _finish(job, 409, _body(f"Cancelled; {notes[0]}"))
        except UserError as error:
            return _finish(job, 422, error_dict(error))

    def _stranger(self, request: Request) -> Response | None:
        """The answer to a caller without a live token; None for one who may send.

        A page sends its one-time token in the address, a job its push token as a bearer.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self.pusher is not None and self.pusher(secret.strip()):
                return None
            what = "This push token is unknown, expired or revoked"
            answer = _error(401, what, "Create one on the page Telemetry, under 'Push from a job'.")
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        if redeem_token(request.query_params.get("token", "")):
            return None
        return _error(401, "This upload token is spent or unknown", "Reload the page and try again.")

    async def _take(self, request: Request, job: Job, name: str, choices: Choices) -> dict[str, Any]:
        _check_length(request, self.spool())
        part = self.spool() / f"upload-{hashlib.sha256(job.id.encode()).hexdigest()[:24]}.part"
        try:
            await _write(request, part, job)
            return await to_thread.run_sync(
                _work, job, self.ingest, part, name, choices, limiter=self.limiter
            )
        finally:
            part.unlink(missing_ok=True)

    async def progress(self, request: Request) -> Response:
        """Say how far a job is; whoever knows its id may ask."""
        job = find_job(request.query_params.get("job", ""))
        return JSONResponse(job.to_dict()) if job else _error(404, "There is no such job")

    async def cancel(self, request: Request) -> Response:
        """Stop a job at its next progress mark."""
        return JSONResponse({"cancelled": cancel_job(request.query_params.get("job", ""))})

    async def download(self, request: Request) -> Response:
        """Give back the untouched bytes of an upload, once for a token."""
        upload_id = request.path_params["upload_id"]
        found = None
        if redeem_token(request.query_params.get("token", ""), f"original:{upload_id}"):
            found = await to_thread.run_sync(self.original, upload_id)
        if found is None:
            return _error(404, "There is no such file here, or this address was used before")
        path, name = found
        return FileResponse(path, filename=name, media_type="application/octet-stream")


def _work(job: Job, ingest: Ingest, part: Path, name: str, choices: Choices) -> dict[str, Any]:
    return run_job(job, lambda progress: ingest(part, name, choices, progress))


async def _write(request: Request, part: Path, job: Job) -> None:
    """Stream the body to disk; refuses a body that is too long, too slow or not as long as announced."""
    limit = size_limit_bytes()
    announced = _announced(request)
    done = 0
    with part.open("wb") as out:
        async for chunk in _chunks(request):
            done += len(chunk)
            if done > limit:
                raise _too_big(limit)
            out.write(chunk)
            job.progress("receiving", done, announced)
    if announced is not None and done != announced:
        raise RefusedError(400, f"{done:,} of {announced:,} bytes arrived", remedy="Send the file again.")


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    body = request.stream()
    while True:
        try:
            async with asyncio.timeout(CHUNK_SECONDS):
                chunk = await anext(body)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise RefusedError(
                408,
                f"No data came for {CHUNK_SECONDS:.0f} seconds; nothing was stored",
                remedy="Send the file again.",
            ) from error
        yield chunk


def _check_length(request: Request, spool: Path) -> None:
    announced = _announced(request)
    if announced is None:
        return
    limit = size_limit_bytes()
    if announced > limit:
        raise _too_big(limit)
    spool.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(spool).free
    if announced * SPACE_FACTOR > free:
        raise RefusedError(
            507,
            f"{free / 1e6:,.0f} MB are free on disk, {SPACE_FACTOR * announced / 1e6:,.0f} MB are needed",
            remedy="Free some space in the home, then send the file again.",
        )


def _too_big(limit: int) -> RefusedError:
    return RefusedError(
        413,
        f"The file is larger than {limit / 1e6:,.0f} MB",
        remedy="Raise IPD_MAX_UPLOAD_MB, or import it with `cli.py import`.",
    )


def _announced(request: Request) -> int | None:
    raw = request.headers.get("content-length")
    if raw is None:
        return None
    if not raw.isdecimal():
        raise RefusedError(400, "Content-Length is no number")
    return int(raw)


def _file_name(request: Request) -> str:
    raw = request.query_params.get("name", "").replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c for c in raw if c.isprintable())[:NAME_LIMIT].strip()
    return name or "upload"


def _choices(request: Request) -> Choices:
    """Choices from the JSON parameter `choices` and from parameters of their own (`run=…&gpus=8`)."""
    text = request.query_params.get("choices") or "{}"
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise RefusedError(400, "The choices are no JSON", "choices") from error
    if not isinstance(raw, Mapping):
        raise RefusedError(400, "The choices are no JSON object", "choices")
    plain = {
        name: int(value) if name in _COUNTS and value.isdecimal() else value
        for name, value in request.query_params.items()
        if name not in _OWN_PARAMETERS
    }
    return choices_from({**raw, **plain})


def _job(request: Request) -> Job:
    wanted = request.query_params.get("job")
    if wanted and (len(wanted) > JOB_LIMIT or find_job(wanted) is not None):
        raise RefusedError(409, "This job id is taken", "job", "Use a fresh random one.")
    return start_job(wanted)


def _finish(job: Job | None, status: int, body: dict[str, Any]) -> Response:
    if job is not None:
        job.state = "failed" if job.state == "running" else job.state
        job.error = job.error or body
    return JSONResponse({"error": body}, status)


def _body(what: str, remedy: str = "") -> dict[str, Any]:
    return {"kind": "Refused", "what": what, "where": "", "remedy": remedy}


def _error(status: int, what: str, remedy: str = "") -> Response:
    return JSONResponse({"error": _body(what, remedy)}, status)
