"""The site, and a browser for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from helpers.browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--site", type=Path, help="folder of a built site")
    parser.addoption("--photographs", type=Path, help="folder for pictures of pages")


@pytest.fixture(scope="session")
def site(pytestconfig: Any, tmp_path_factory: Any) -> Path:
    """The folder of the site, built here unless one is given."""
    if given := pytestconfig.getoption("site"):
        return given.resolve()
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, ROOT / "docs/build.py", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def photographs(pytestconfig: Any, tmp_path_factory: Any) -> Path:
    folder = pytestconfig.getoption("photographs") or tmp_path_factory.mktemp("photos")
    folder.mkdir(exist_ok=True)
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """What was asked for is no news."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, as it would be on the web."""
    handler = partial(Quiet, directory=str(site))
    # A port that is free.
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: Any) -> Iterator[Browser]:
    if CHROMIUM is None:
        missing = "Chromium is not installed"
        if os.environ.get("CI"):
            # Nearly all of these tests need it: without it, green would mean untested.
            pytest.fail(f"{missing}, and CI is set", pytrace=False)
        pytest.skip(missing)
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
