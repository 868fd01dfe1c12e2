"""A matplotlib figure that a notebook shows as SVG, with any backend."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

FONTS = ["DejaVu Sans", "Verdana"]
"""Fonts of pictures: the one that the layout was measured with, one of the same width, else any sans-serif."""
NAMELESS = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Metadata that is left out of a picture's file."""


class ShownFigure(Figure):
    """A figure that a notebook shows as SVG. `figure.savefig("gains.pdf")` writes another format."""

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Save as matplotlib does, but draw text literally: a `$` in a row's label starts no formula."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
        _wrap_names(self)
        super().savefig(*arguments, **options)

    def as_svg(self) -> bytes:
        """Return SVG; equal figures give equal bytes. Text stays text: it can be searched, read aloud and restyled."""
        picture = io.BytesIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.sans-serif": FONTS}):
            self.savefig(picture, format="svg", metadata=NAMELESS)
        return picture.getvalue()

    def _repr_svg_(self) -> str:
        return self.as_svg().decode()


def _wrap_names(figure: Figure) -> None:
    """Wrap names that are longer than their axis or panel; up to three times, as each line makes the panel smaller."""
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
