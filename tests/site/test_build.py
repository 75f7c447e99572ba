"""How the site is put together: `docs/build.py` and `docs/conf.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

README = """\
# Title

First.

## Second

```python
# No heading.
```

See [porting](docs/porting.md).
"""


@pytest.fixture(autouse=True)
def _docs_can_be_imported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(DOCS)


def test_sections_replace_links():
    from build import with_readme

    pages = {
        "index.md": "[Title](../README.md#title)\n",
        "more.md": "# More\n\n[Second](../README.md#second)\n\nEnd.\n",
    }
    assert with_readme(pages, README) == {
        "index.md": "# Title\n\nFirst.\n",
        "more.md": "# More\n\n## Second\n\n```python\n# No heading.\n```\n\n"
        "See [porting](porting.md).\n\nEnd.\n",
    }


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("[Title](../README.md#title)\n", "{'Second': 0}"),
        ("[Title](../README.md#t)\n[Second](../README.md#s)\n" * 2, "'Title': 2"),
        (
            "[Title](../README.md#t)\n[Second](../README.md#s)\n[Third](../README.md#)",
            "{'Third'}",
        ),
    ],
    ids=["missing", "twice", "unknown"],
)
def test_each_section_is_on_one_page(page: str, found: str):
    from build import with_readme

    with pytest.raises(ValueError, match=found):
        with_readme({"index.md": page}, README)


def test_docstrings_become_rest():
    from conf import as_rest

    docstring = "Line.\n\n    a = b * c\n\nAfter.\n\nReturns:\n    Tensor: of `x`.\n"
    assert as_rest(docstring) == (
        "Line.\n\n::\n\n    a = b * c\n\n\nAfter.\n\n:returns: Tensor: of `x`.\n"
    )
    assert as_rest("- arXiv:1706.03762, section 3.5") == (
        "- `arXiv:1706.03762 <https://arxiv.org/abs/1706.03762>`__, section 3.5"
    )
