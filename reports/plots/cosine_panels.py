"""Cosines of sentences as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reports.plots.canvas import make_figure, save

if TYPE_CHECKING:
    from numpy import ndarray

PRINTED_CELLS = 12
"""Heat maps of at most this many sentences print their cosines in the cells."""


def heat_map_picture(panels: Sequence[tuple[str, ndarray]], labels: Sequence[str], path: Path) -> Path:
    """Draw cosines of sentences, (n, n) per panel, on one colour scale. The x axis has the first word of each label."""
    size = len(labels)
    side = min(max(0.3 * size, 3.0), 9.0)
    low = min(0.0, *(float(values.min()) for _, values in panels))
    figure, axes = make_figure(len(panels), height=side + 1.0, width=(side + 0.5) * len(panels) + 4.0, sharey=True)
    for axis, (title, values) in zip(axes, panels, strict=True):
        image = axis.imshow(values, cmap="viridis", vmin=low, vmax=1.0)
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(size), [label.split()[0] for label in labels], fontsize=8, rotation=90 * (size > 20))
        if size <= PRINTED_CELLS:
            for row in range(size):
                for column in range(size):
                    value = float(values[row, column])
                    dark = (value - low) / (1 - low) < 0.6
                    axis.text(
                        column, row, f"{value:.2f}".replace("0.", ".", 1), ha="center", va="center", fontsize=6,
                        color="white" if dark else "black",
                    )  # fmt: skip
    axes[0].set_yticks(range(size), labels, fontsize=8)
    figure.colorbar(image, ax=axes, shrink=0.8, label="cosine")
    return save(figure, path)
