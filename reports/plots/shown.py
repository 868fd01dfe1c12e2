"""A figure of matplotlib as SVG, which a notebook shows by itself, whatever backend it has."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

FONTS = ["DejaVu Sans", "Verdana"]
"""The font that the layout was measured with, and one as wide; any sans-serif where neither is there."""
NAMELESS = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Nothing in a picture's file but the picture."""


class ShownFigure(Figure):
    """`figure.savefig("gains.pdf")` keeps it in another form."""

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """As matplotlib's, but text is shown as it is written: a `$` in a row's label begins no formula."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
        _wrap_names(self)
        super().savefig(*arguments, **options)

    def as_svg(self) -> bytes:
        """The same figure gives the same bytes. Text stays text: it can be searched, read aloud and restyled."""
        picture = io.BytesIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.sans-serif": FONTS}):
            self.savefig(picture, format="svg", metadata=NAMELESS)
        return picture.getvalue()

    def _repr_svg_(self) -> str:
        return self.as_svg().decode()


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
