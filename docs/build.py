"""Builds the site of the documentation: `python docs/build.py FOLDER`.

The pages are those of this folder and other files of the project, at the paths that
they have seen from the README, put together in a temporary folder. There, a line that
is nothing but a link to a section of the README is replaced with that section: each
text is written once, and the link works where there is no site.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import explorer
import pictures
from sphinx.cmd.build import build_main

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# What pages lead to.
PROJECT_FILES = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "benchmarks/**/*.md",
    "benchmarks/**/*.png",
    "examples/*.md",
    "examples/*.p*",
)
SECTION_LINK = re.compile(r"^\[(.+)\]\(\.\./README\.md#[\w-]*\)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def sections(text: str) -> dict[str, str]:
    """The sections of a document by title, the first of which is that of all."""
    # A comment in a block of code looks like a heading.
    masked = FENCED.sub(lambda block: "-" * len(block[0]), text)
    starts = [found.start() for found in re.finditer("^##? ", masked, re.MULTILINE)]
    parts = [text[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    return {part.split("\n", 1)[0].lstrip("# "): part.strip() for part in parts}


def with_readme(pages: dict[str, str], readme: str) -> dict[str, str]:
    """The pages with each section of the README, which is to be on one of them."""
    by_title = sections(readme)
    shown = Counter(
        title for page in pages.values() for title in SECTION_LINK.findall(page)
    )
    if shown != Counter(list(by_title)):
        titles = {*by_title, *shown}
        odd = {title: shown[title] for title in titles if shown[title] != 1}
        raise ValueError(
            "Each section of the README must be on one page, and there must be no "
            f"other. Received: {odd or set(shown) - set(by_title)}"
        )

    def section(found: re.Match[str]) -> str:
        # Seen from the README, pages are in a folder.
        return by_title[found[1]].replace("](docs/", "](")

    return {name: SECTION_LINK.sub(section, page) for name, page in pages.items()}


def assemble(source: Path) -> None:
    """Puts everything that the site is made of into the folder `source`."""
    pages = {path.name: path.read_text() for path in DOCS.glob("*.md")}
    for name, page in with_readme(pages, (ROOT / "README.md").read_text()).items():
        (source / name).write_text(page)
    for path in DOCS.glob("*.png"):
        shutil.copy(path, source)
    shutil.copytree(DOCS / "_static", source / "_static")
    pictures.draw(source / "pictures")
    (source / "_static/presets.js").write_text(explorer.script())
    for pattern in PROJECT_FILES:
        for path in ROOT.glob(pattern):
            copied = source / path.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copied)
    for path in (source / "benchmarks").rglob("*.md"):
        # Pages that others lead to, not the menu.
        path.write_text(f"---\norphan: true\n---\n\n{path.read_text()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the site")
    site = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "pages")
        source.mkdir()
        assemble(source)
        doctrees = str(Path(folder, "doctrees"))
        strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
        static = f"html_static_path={source / '_static'}"
        how = [*strict, "-c", str(DOCS), "-d", doctrees, "-D", static]
        sys.exit(build_main([*how, str(source), str(site)]))


if __name__ == "__main__":
    main()
