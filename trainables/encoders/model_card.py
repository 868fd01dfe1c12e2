"""Placeholder until merged."""

from pathlib import Path
from typing import Any


def model_card(recipe: Any, seed: int, scores: Any, data: Any) -> str:
    return ""


def write_card(folder: Path, text: str) -> None:
    pass
