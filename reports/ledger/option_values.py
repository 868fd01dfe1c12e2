"""Types of option values, and their readers from text. Readers raise `UserError` for malformed text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

from reports.ledger.options import Reader
from trainables.errors import UserError, choices, point_hint, shown
from trainables.files import expanded

KeepModels = int | Literal["rows", "all", "none"]
"""Which models are kept: `rows` (each row's best seed), `all`, `none`, or those of this many best trials."""

MAX_COUNT = 100_000
"""Largest number of seeds, workers or trials that may be requested; larger numbers are typing errors."""
MAX_FINALS = 100
"""Largest number of finalists, and of fresh seeds of each finalist, that may be requested."""


class NumberRange(NamedTuple):
    """A range of whole numbers, bounds included. Users write it as `2:8`, or as `4` if both bounds are equal."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}" if self.least == self.most else f"{self.least}:{self.most}"


class FinalsSize(NamedTuple):
    """Size of the finals: the number of finalists, and of fresh seeds of each finalist."""

    recipes: int
    seeds: int

    def __str__(self) -> str:
        return f"{self.recipes}x{self.seeds}"


def parse_finals_size(option: str, text: str) -> FinalsSize | Literal["none"]:
    """Parse the size of finals: `3x5` or `none`."""
    if text == "none":
        return "none"
    recipes, _, seeds = text.partition("x")
    try:
        size = FinalsSize(int(recipes), int(seeds))
    except ValueError:
        raise UserError(f"{option} must be none, or RECIPESxSEEDS such as 1x5, not {shown(text)}") from None
    if size.recipes < 1 or size.seeds < 2:
        raise UserError(f"{option} {shown(text)}: it takes a recipe and two seeds of it to say anything")
    if max(size) > MAX_FINALS:
        raise UserError(f"{option} {shown(text)}: no more than {MAX_FINALS} recipes, or seeds, can be asked for")
    return size


def parse_models(option: str, text: str) -> KeepModels:
    if text in ("rows", "all", "none"):
        return cast(KeepModels, text)
    if not (text.isdecimal() and len(text) <= len(str(MAX_COUNT)) and 0 < int(text) <= MAX_COUNT):
        raise UserError(f"{option} must be all, none, rows or a number from 1 to {MAX_COUNT:,}, not {shown(text)}")
    return int(text)


def split_names(text: str) -> list[str]:
    """Split a text at commas, except at commas in parentheses as in `MTEB(eng, v2)`."""
    return [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]


def parse_path(option: str, text: str) -> Path:
    """Parse the path of a file or folder; `~` is the home folder."""
    return expanded(text)


def whole_number(least: int, most: float = math.inf) -> Reader:
    def read(option: str, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise UserError(f"{option} must be a whole number, not {shown(text)}") from None
        if number < least:
            raise UserError(f"{option} must be at least {least}, not {number}")
        if number > most:
            raise UserError(f"{option} must be at most {most:,}, not {shown(text)}")
        return number

    return read


def number_from_zero(option: str, text: str) -> float:
    """Parse a finite number that is not negative."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise UserError(f"{option} must be a number from 0 on, not {shown(text)}{point_hint(text)}")
    return number


def parse_number_range(option: str, text: str) -> NumberRange:
    """Parse a number range such as `4` or `2:8`, with whole numbers from 1 to `MAX_COUNT`."""
    least, colon, most = text.partition(":")
    try:
        numbers = NumberRange(int(least), int(most if colon else least))
    except ValueError:
        raise UserError(f"{option} must be a number, or MIN:MAX such as 1:4, not {shown(text)}") from None
    if numbers.least < 1:
        raise UserError(f"{option} must be at least 1, not {text}")
    if numbers.most > MAX_COUNT:
        raise UserError(f"{option} must be at most {MAX_COUNT:,}, not {shown(text)}")
    if numbers.least > numbers.most:
        raise UserError(f"{option} {text}: the least comes first; did you mean {numbers.most}:{numbers.least}?")
    return numbers


def name_among(names: Sequence[str]) -> Reader:
    def read(option: str, text: str) -> str:
        if text not in names:
            raise UserError(f"{option} must be {choices(map(repr, names))}, not {shown(text)}")
        return text

    return read
