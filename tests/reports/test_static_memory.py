from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import file_util

from reports.static_memory import StaticFromMemory
from tests.reports.live import ask, served

FOLDER = Path(file_util.get_static_dir())


async def behind(request):
    return PlainTextResponse("behind")


@pytest.fixture(scope="module")
def url():
    routes = [Route("/{rest:path}", behind, methods=["GET", "POST"])]
    with served(
        Starlette(routes=routes, middleware=[Middleware(StaticFromMemory, folder=str(FOLDER))])
    ) as address:
        yield address


@pytest.mark.parametrize(
    ("suffix", "kind"), [(".js", "text/javascript"), (".css", "text/css"), (".woff2", "font/woff2")]
)
def test_every_front_end_file_comes_with_its_bytes_and_type(url, suffix, kind):
    files = sorted((FOLDER / "static").rglob(f"*{suffix}"))[:5]
    assert files
    for path in files:
        answer = ask("GET", f"{url}/{path.relative_to(FOLDER).as_posix()}")
        assert answer.content == path.read_bytes()
        assert answer.headers["content-type"].split(";")[0] == kind
        assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "path", ["/", "/static/js/%2e%2e/%2e%2e/index.html", "/static/none.js", "/index.html"]
)
def test_what_is_not_a_front_end_file_passes(url, path):
    assert ask("GET", url + path).text == "behind"


def test_a_part_of_a_file_and_other_methods_pass(url):
    path = next((FOLDER / "static").rglob("*.css"))
    address = f"{url}/{path.relative_to(FOLDER).as_posix()}"
    assert ask("GET", address, headers={"Range": "bytes=0-9"}).text == "behind"
    assert ask("POST", address).text == "behind"
