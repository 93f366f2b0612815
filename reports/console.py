"""The local endpoint through which the command line works while a server holds the home."""

import secrets
from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from data.errors import UserError
from reports.uploads import Job, WorkCancelledError, error_dict, run_job, start_job

WORKERS = 4
Run = Callable[[str, dict[str, Any], Callable[[str, int, int | None], None]], dict[str, Any]]


def console_routes(secret: Callable[[], str | None], run: Run) -> list[BaseRoute]:
    """Return the route. `secret` is asked at each request; no secret means that nobody gets in."""
    limiter = CapacityLimiter(WORKERS)

    async def work(request: Request) -> Response:
        if not _knows(request, secret()):
            return JSONResponse({"error": "unknown caller"}, 401)
        body = await request.json()
        job = start_job(body.get("job") or None)
        command, arguments = str(body["command"]), dict(body.get("arguments") or {})
        return JSONResponse(await to_thread.run_sync(_reply, job, run, command, arguments, limiter=limiter))

    return [Route("/api/cli", work, methods=["POST"])]


def _reply(job: Job, run: Run, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": run_job(job, lambda progress: run(command, arguments, progress))}
    except UserError as error:
        return {"error": error_dict(error)}
    except WorkCancelledError:
        return {"error": error_dict(UserError("Cancelled; nothing was stored"))}


def _knows(request: Request, secret: str | None) -> bool:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return bool(secret) and secrets.compare_digest(given.encode(), str(secret).encode())
