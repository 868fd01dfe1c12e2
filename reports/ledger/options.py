"""Definitions of options, kept with the fields that hold their values: help, reader, rules about other options.

    trials: int | None = option(None, SEARCH, "new recipes for Optuna", whole_number(1, MAX_COUNT), shown="N")

The command line's parser, the checks, the printed commands and the JSON of `study.json` are made of these.
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
"""Takes the option's name on the command line and a text; returns the value. Raises `UserError` for malformed text."""
Repeats = Literal["no", "yes", "in a row"]
"""Whether an option may be repeated: `no`, `yes`, or `in a row`, that is, with several values in a row as well."""


@dataclass(frozen=True)
class Rule:
    """A rule for an option about the other options of a request."""

    broken: Callable[[Any], bool]
    """Takes a request that has the option; returns whether the request breaks the rule."""
    sentence: str
    """The message for a request that breaks the rule; `{option}` is replaced by the option's name: `--keep-models`."""


@dataclass(frozen=True)
class Option:
    """The definition of one option of `Request`, made of the field that `option` returned."""

    name: str
    """Name of the option's field in `Request`."""
    default: Any
    group: str
    help: str
    read: Reader
    shown: str | None
    """Placeholder for the value in the help; if empty, the option's name. None if the option takes no value."""
    repeats: Repeats
    rules: tuple[Rule, ...]
    split: Callable[[str], Sequence[str]]
    """Splits a text into the values of an option that may be repeated, for example at commas."""
    registry: str | None
    """The registry of names that may be chosen, as `"module:REGISTRY"`. The help lists these names."""

    @property
    def word(self) -> str:
        """The option as typed on the command line: `--keep-models`."""
        return f"--{self.name.replace('_', '-')}"

    def value_of(self, value: Any) -> Any:
        """Convert a text, number, bool, or a list of these to the field's value. Raise `UserError` if that fails."""
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

    def arguments(self, value: Any) -> list[str]:
        """Return the command-line words for this value."""
        if value is True:
            return [self.word]
        texts = [as_text(each) for each in (value if self.repeats != "no" else [value])]
        if self.repeats == "in a row" and not any(text.startswith("-") for text in texts):
            return [self.word, *texts]
        return [word for text in texts for word in ([f"{self.word}={text}"] if text[:1] == "-" else [self.word, text])]

    def json(self, value: Any) -> Any:
        """Return the value in JSON types, so that `value_of` can read it back."""
        if self.repeats != "no":
            return [as_text(each) for each in value]
        return value if isinstance(value, bool | int) else as_text(value)


def plain_text(option: str, text: str) -> str:
    """Return the text unchanged: the reader of options whose values are plain texts."""
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
    """Return the dataclass field that defines an option; `Option` explains the arguments."""
    metadata = {**locals()}
    return field(default=metadata.pop("default"), metadata=metadata)


def flag(group: str, help: str, *rules: Rule) -> Any:
    """Return the field of an option without a value, which is true if the option is given."""
    return option(False, group, help, *rules, shown=None)


def options_of(kind: type[Any]) -> Mapping[str, Option]:
    """Return the options that the fields of the class `kind` define, by field name, in the order of definition."""
    fields = dataclasses.fields(kind)
    return {item.name: Option(item.name, item.default, **item.metadata) for item in fields}


def as_text(value: Any) -> str:
    """Return a value as a user types it."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
