"""Figures that read well on light and dark pages, at the width of a README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import candidates as c
from matplotlib.figure import Figure

# A page shows through, so text is of a grey, and lines of hues, that stand out on both.
TEXT = "#7d8590"
COLORS = {
    c.PLUS_ONE: TEXT,
    c.STORED: "#d29922",
    c.SUMMER: "#2f81f7",
    c.KERAS_HUB: "#db61a2",
    c.PEER: "#3fb950",
}


def figure(panels: int) -> tuple[Figure, list[Any]]:
    """A figure with a row of panels that share their vertical axis."""
    drawn = Figure(figsize=(9, 3.6), dpi=160, layout="constrained")
    axes = list(drawn.subplots(1, panels, sharey=True, squeeze=False)[0])
    for axis in axes:
        axis.set_facecolor("none")
        axis.grid(color=TEXT, alpha=0.25, linewidth=0.6)
        axis.tick_params(which="both", colors=TEXT, labelcolor=TEXT)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(TEXT)
        for text in (axis.title, axis.xaxis.label, axis.yaxis.label):
            text.set_color(TEXT)
    return drawn, axes


def line(axis: Any, name: str, x: list[float], y: list[float], **style: Any) -> None:
    """One candidate; `Summer` on top and thicker."""
    ours = name == c.SUMMER
    axis.plot(
        x,
        y,
        label=name,
        color=COLORS[name],
        linewidth=2.4 if ours else 1.4,
        linestyle="--" if name == c.PLUS_ONE else "-",
        zorder=3 if ours else 2,
        **style,
    )


def save(drawn: Figure, path: Path) -> None:
    labels = dict(
        reversed(pair)
        for axis in drawn.axes
        for pair in zip(*axis.get_legend_handles_labels(), strict=True)
    )
    drawn.legend(
        labels.values(),
        labels.keys(),
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        labelcolor=TEXT,
    )
    drawn.savefig(path, transparent=True)
