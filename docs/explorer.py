"""What the page that explores encodings has from the package: its presets, as JSON."""

from __future__ import annotations

import json
from typing import Any

from keras_posenc._presets import ANY, PRESETS, Preset
from keras_posenc._sinusoidal import WaveOptions

RANKS = (1, 2)
# The channels that the page offers. Some do not divide by 4, where presets differ.
CHANNELS = (2, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128)


def _options(row: Preset, rank: int) -> dict[str, Any]:
    """Options by number of channels, or under "any" where they are always the same."""
    if isinstance(row.by_rank.get(rank, row.by_rank.get(ANY)), dict):
        return {"any": row.options(rank, None)}
    found = {}
    for channels in CHANNELS:
        options = row.options(rank, channels)
        WaveOptions(rank, channels, **options)
        found[str(channels)] = options
    return found


def script() -> str:
    """The presets of sequences and images, as a script that the page loads."""
    presets = {
        row.name: {
            "sentence": row.sentence,
            "ranks": {
                str(rank): _options(row, rank)
                for rank in RANKS
                if row.ranks is None or rank in row.ranks
            },
        }
        for row in PRESETS.values()
    }
    usable = {name: row for name, row in presets.items() if row["ranks"]}
    data = {"channels": CHANNELS, "presets": usable}
    return f"window.explorer = {json.dumps(data)};\n"
