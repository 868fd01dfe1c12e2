"""A figure of matplotlib that a notebook shows by itself, whatever backend it has."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.plots.canvas import as_svg


class ShownFigure(Figure):
    """`figure.savefig("gains.pdf")` keeps it."""

    def _repr_svg_(self) -> str:
        return as_svg(self).decode()
