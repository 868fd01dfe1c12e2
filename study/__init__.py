"""Running trials, from the command line and from Python: `from study import Outcome, Study`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from study.from_python import Outcome, Study

__all__ = ["Outcome", "Study"]


def __getattr__(name: str) -> Any:
    """Import the two names at first use, so that `import study` stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'study' has no attribute {name!r}")
    from study import from_python

    return getattr(from_python, name)
