"""Output of a notebook cell that is overwritten in place. IPython is used only if it runs the process already,
and is never imported otherwise.

    cell = notebook_cell()           # None outside a notebook
    cell.show(["2 running"], 40, 100, "40 %  best so far: dev 61.20")
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from html import escape
from typing import Any


class NotebookCell:
    """Shows a study in a notebook cell: lines, and a progress bar with a text beside it."""

    def __init__(self, display: Any) -> None:
        """`display` is the module `IPython.display`."""
        self._display, self._handle = display, None

    def show(self, lines: Sequence[str], done: int, of: int, words: str) -> None:
        """Show the lines and the bar in place of the former ones. All text is escaped, since names may contain HTML."""
        block = "".join(f"{escape(line)}\n" for line in lines)
        bar = f'<progress value="{done}" max="{of}"></progress> {escape(words)}'
        content = self._display.HTML(f"<pre>{block}{bar}</pre>")
        if self._handle is None:
            self._handle = self._display.display(content, display_id=True)
        else:
            self._handle.update(content)


def notebook_cell() -> NotebookCell | None:
    """Return a new cell if IPython runs this process as a notebook kernel; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    return NotebookCell(importlib.import_module("IPython.display"))
