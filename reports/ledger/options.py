"""What an option says of itself, beside the field that holds its value: help, how it is read, what it goes with.

    trials: int | None = option(None, SEARCH, "new recipes for Optuna", whole_number(1, MOST), shown="N")

The parser of the command line, the checks, the printed commands and the JSON of `study.json` are all made of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from trainables.errors import UserError, shown

Reader = Callable[[str, str], Any]
"""An option's name on the command line and a text, to the value; `UserError` for a text that is none."""
Repeats = Literal["no", "yes", "in a row"]
"""Whether an option may be repeated, and may then have several values in a row."""


@dataclass(frozen=True)
class Rule:
    """What an option goes with."""

    broken: Callable[[Any], bool]
    """Whether a request that has the option breaks the rule."""
    sentence: str
    """What the person reads then; `{option}` is the option's name."""


@dataclass(frozen=True)
class Option:
    """One option; `option` says the rest where the field is defined."""

    name: str
    """The field's."""
    default: Any
    group: str
    help: str
    read: Reader
    shown: str | None
    """What stands for a value in the help, empty for the name; None for an option without a value."""
    repeats: Repeats
    rules: tuple[Rule, ...]
    split: Callable[[str], Sequence[str]]
    """What one text of a repeated option holds."""
    registry: str | None
    """Where the names are registered that it chooses from, as `"module:REGISTRY"`: its help lists them."""

    @property
    def word(self) -> str:
        """`--keep-models`."""
        return f"--{self.name.replace('_', '-')}"

    def value_of(self, value: Any) -> Any:
        """The field's value out of a text, a number, true or false, or a list of them; `UserError` for any other."""
        if value is None:
            return self.default
        if self.shown is None:
            if not isinstance(value, bool):
                raise UserError(f"{self.word} is true or false, not {shown(value)}")
            return value
        if self.repeats != "no":
            values = value if isinstance(value, list | tuple) else [value]
            return tuple(self.read(self.word, text) for each in values for text in self.split(self._text_of(each)))
        return self.read(self.word, self._text_of(value))

    def _text_of(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | Real | Path):
            raise UserError(f"{self.word} has text or numbers for values, not {shown(value)}")
        return as_text(value)

    def words(self, value: Any) -> list[str]:
        """What a person types for that value."""
        if value is True:
            return [self.word]
        texts = [as_text(each) for each in (value if self.repeats != "no" else [value])]
        if self.repeats == "in a row" and not any(text.startswith("-") for text in texts):
            return [self.word, *texts]
        return [word for text in texts for word in ([f"{self.word}={text}"] if text[:1] == "-" else [self.word, text])]

    def json(self, value: Any) -> Any:
        """That value as `value_of` reads it back from JSON."""
        if self.repeats != "no":
            return [as_text(each) for each in value]
        return value if isinstance(value, bool | int) else as_text(value)


def plain_text(option: str, text: str) -> str:
    """The text as it is."""
    return text


def option(
    default: Any,
    group: str,
    help: str,
    *rules: Rule,
    read: Reader = plain_text,
    shown: str | None = "",
    repeats: Repeats = "no",
    split: Callable[[str], Sequence[str]] = lambda text: (text,),
    registry: str | None = None,
) -> Any:
    """A field of a request; see `Option`."""
    metadata = {**locals()}
    return field(default=metadata.pop("default"), metadata=metadata)


def flag(group: str, help: str, *rules: Rule) -> Any:
    """A field that is true where the option is there."""
    return option(False, group, help, *rules, shown=None)


def options_of(kind: type[Any]) -> Mapping[str, Option]:
    """The options of a request by the names of its fields, in the order of their definition."""
    fields = dataclasses.fields(kind)
    return {item.name: Option(item.name, item.default, **item.metadata) for item in fields}


def as_text(value: Any) -> str:
    """A value as a person types it."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
