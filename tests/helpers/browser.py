"""A page in headless Chromium, driven by its DevTools protocol over a pair of pipes.

A driver would be one more program, and a package of its own version.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# Descriptors that Chromium reads commands from, and writes answers and noise to.
COMMANDS, ANSWERS, NOISE = 3, 4, 2
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    # Containers have neither the rights for a sandbox nor much shared memory.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    # Drawing and measures are the same on every machine.
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # What a browser asks for by itself.
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "about:blank",
)
# Seconds. Some machines are busy.
PATIENCE = 60


class Browser:
    """One page of one browser, with a profile in `folder`."""

    def __init__(self, folder: Path):
        assert CHROMIUM is not None
        for_browser, self._commands = os.pipe()
        self._answers, of_browser = os.pipe()
        # Not subprocess, which cannot choose the numbers of descriptors.
        self._process = os.posix_spawn(
            CHROMIUM,
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, for_browser, COMMANDS),
                (os.POSIX_SPAWN_DUP2, of_browser, ANSWERS),
                (os.POSIX_SPAWN_OPEN, NOISE, os.devnull, os.O_WRONLY, 0),
            ],
        )
        os.close(for_browser)
        os.close(of_browser)
        self._last = 0
        self._buffer = b""
        self._session: dict[str, str] = {}
        # What happened since the page was opened.
        self.events: list[dict[str, Any]] = []
        (page,) = (
            target
            for target in self.send("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        attached = self.send(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True
        )
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # It ends where it cannot read on, and takes its children with it.
        os.close(self._commands)
        os.waitpid(self._process, 0)
        os.close(self._answers)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        self._last += 1
        command = {"id": self._last, "method": method, "params": params}
        os.write(
            self._commands, json.dumps({**command, **self._session}).encode() + b"\0"
        )
        while True:
            message = self._receive()
            if message.get("id") == self._last:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            received = os.read(self._answers, 1 << 20)
            assert received, "the browser has ended"
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def screen(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Makes it a phone or a desk, by day or by night."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        self.events.clear()
        # Another page first: for the same one with another anchor nothing is loaded.
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        self.wait(f"location.href === {json.dumps(address)}")
        self.wait("document.readyState === 'complete'")

    def wait(self, expression: str) -> None:
        """Until a line of JavaScript is true in the page."""
        until = time.monotonic() + PATIENCE
        while self.value(expression) is not True:
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """What a line of JavaScript is in the page, as JSON has it."""
        done = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """A key, which a form understands by its name and its number."""
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
            )

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions, since the page opened."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(str(params["entry"]))
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
        return found

    def requested(self) -> list[str]:
        """The addresses that were asked for since the page opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def photograph(self, path: Path) -> None:
        """The whole page, not only what the screen shows."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {**size, "scale": 1}
        taken = self.send(
            "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(taken["data"]))
