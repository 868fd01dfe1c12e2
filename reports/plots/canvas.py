"""What all pictures share: colours, a figure with panels, its legend, and the one place that writes a file."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, PUBLISHED, QUIET, FLAGGED = "#0b5fa5", "#d1600a", "#8a8a8a", "#b03050"
LINES = (OURS, PUBLISHED, "#2a8a4a", "#8a3fa0", "#b8a000", "#555555")
LETTER = 0.085
"""Width of a letter of an axis's labels, in inches."""
FONTS = ["DejaVu Sans", "Verdana"]
"""The font that the layout was measured with, and one as wide; any sans-serif where neither is there."""
NAMELESS = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Nothing in a picture's file but the picture."""


def make_figure(
    panels: int, height: float, width: float | None = None, columns: int | None = None, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels side by side, or in rows of so many columns; sizes in inches, of the whole."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from reports.plots.shown import ShownFigure

    figure = ShownFigure(figsize=(width or 4.6 * panels + 1.4, height), layout="constrained")
    FigureCanvasSVG(figure)
    columns = min(panels, columns or panels)
    axes = figure.subplots(-(-panels // columns), columns, squeeze=False, **options).flatten()
    for axis in axes[panels:]:
        axis.remove()
    return figure, list(axes[:panels])


def once(axis: Axes, label: str) -> str | None:
    """The label for the legend, unless the panel has it already."""
    return None if label in axis.get_legend_handles_labels()[1] else label


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Below the panels, in as many columns as the names leave room for."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    letters = int(11 * figure.get_figwidth())
    names = [textwrap.fill(name, letters - 5) for name in handles]
    columns = letters // (max(map(len, handles), default=0) + 7)
    figure.legend(handles.values(), names, loc="outside lower center", ncols=min(max(columns, 1), 4), frameon=False)


def _wrap_names(figure: Figure) -> None:
    """What an axis or a panel is called goes on in the next line where it is longer than the panel, which each further
    line makes smaller."""
    for _ in range(3):
        figure.draw_without_rendering()
        fits = True
        for axis in figure.axes:
            panel = axis.get_window_extent()
            for name, side in ((axis.xaxis.label, "width"), (axis.title, "width"), (axis.yaxis.label, "height")):
                longer = getattr(name.get_window_extent(), side) / getattr(panel, side)
                if longer > 1:
                    fits = False
                    letters = max(map(len, name.get_text().split("\n"))) / longer
                    name.set_text(textwrap.fill(name.get_text(), max(int(letters), 1)))
        if fits:
            return


def save(figure: Figure, path: Path) -> Path:
    """Write the picture whole, as SVG."""
    write_whole(path, as_svg(figure))
    return path


def as_svg(figure: Figure) -> bytes:
    """The picture; the same figure gives the same bytes.

    Text stays text: it can be searched, read aloud and restyled. It is shown as it is written: a `$` in a row's label
    begins no formula.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
    _wrap_names(figure)
    picture = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.sans-serif": FONTS}):
        figure.savefig(picture, format="svg", metadata=NAMELESS)
    return picture.getvalue()
