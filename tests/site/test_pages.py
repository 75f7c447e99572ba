"""Every page of the site: its links, what it loads, and how it looks on a screen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from helpers.browser import Browser

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(path.stem for path in (ROOT / "docs").glob("*.md")),
        *("CONTRIBUTING", "CHANGELOG", "benchmarks/results/README"),
    ]
)
# A desk, and a small phone.
WIDTHS = {"desk": 1280, "phone": 360}
# Attributes that make a browser load something, and those that lead elsewhere.
LOADS = {"src", "srcset", "data", "poster"}


class Links(HTMLParser):
    """What a page leads to, what it loads, and the places that it has names for."""

    def __init__(self, text: str):
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in LOADS and value:
                self.loads.append(value)
            elif name == "href" and value:
                (self.leads if tag == "a" else self.loads).append(value)


def pages_of(site: Path) -> dict[Path, Links]:
    return {path: Links(path.read_text()) for path in site.rglob("*.html")}


def broken(site: Path) -> Iterator[str]:
    """Links of the site to files that are not there, or to places that they lack."""
    pages = pages_of(site)
    for path, links in pages.items():
        name = path.relative_to(site)
        for link in links.leads + links.loads:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = path
            if target.path:
                file = Path(os.path.normpath(path.parent / unquote(target.path)))
            if not file.is_file():
                yield f"{name}: {link} is no file"
            # The empty place is the top of any page.
            elif file in pages and unquote(target.fragment) not in pages[file].places:
                yield f"{name}: {link} is no place"


def test_links_lead_somewhere(site: Path):
    assert list(broken(site)) == []


def test_broken_links_are_seen(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"><a href="#there"><a href="b.html">'
        '<a href="a.html#no"><a href="https://example.org/x"><img src="c.png">'
    )
    assert list(broken(tmp_path)) == [
        "a.html: #there is no place",
        "a.html: b.html is no file",
        "a.html: a.html#no is no place",
        "a.html: c.png is no file",
    ]


def test_nothing_is_loaded_from_elsewhere(site: Path):
    loads = [link for links in pages_of(site).values() for link in links.loads]
    assert loads
    assert [link for link in loads if urlsplit(link).netloc] == []
    for path in site.rglob("*.css"):
        found = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", path.read_text())
        assert [link for link in found if urlsplit(link).netloc] == [], path


def test_every_page_is_in_the_menu(site: Path):
    menu = Links((site / "index.html").read_text()).leads
    # "#" is the page itself.
    assert {page for page in PAGES if f"{page}.html" not in menu} == {"index"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_page(
    page: str,
    screen: str,
    dark: bool,
    browser: Browser,
    address: str,
    photographs: Path,
):
    browser.screen(WIDTHS[screen], dark=dark)
    browser.open(f"{address}/{page}.html")
    theme = "dark" if dark else "light"
    name = f"{page.replace('/', '-')}-{screen}-{theme}.png"
    browser.photograph(photographs / name)

    assert browser.complaints() == []
    within = (address, "data:")
    assert browser.requested()
    elsewhere = [url for url in browser.requested() if not url.startswith(within)]
    assert elsewhere == []
    # A page that is wider than the screen is read through a keyhole.
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS[screen]
    assert browser.value(TOO_WIDE) == []
    assert browser.value(TOO_SMALL) == []
    assert browser.value(NOT_SHOWN) == []
    assert browser.value(IS_DARK) is dark


# Elements of the text that stick out of the screen, unless a box around them scrolls.
TOO_WIDE = """
[...document.querySelectorAll("article *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .filter((e) => {
    for (let box = e; box.tagName !== "ARTICLE"; box = box.parentElement) {
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(box).overflowX)) {
        return false;
      }
    }
    return true;
  })
  .map((e) => e.outerHTML.slice(0, 200))
"""
# Text below 11 pixels is hard to read on a phone.
TOO_SMALL = """
[...document.querySelectorAll("article *")]
  .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .filter((e) => e.getClientRects().length)
  .filter((e) => parseFloat(getComputedStyle(e).fontSize) < 11)
  .map((e) => e.outerHTML.slice(0, 200))
"""
NOT_SHOWN = """
[...document.images]
  .filter((image) => image.loading !== "lazy" && !image.naturalWidth)
  .map((image) => image.src)
"""
IS_DARK = """
getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((c) => c < 64)
"""
