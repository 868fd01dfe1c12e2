"""Registries: components by name, of this repository or of a plugin.

    OBJECTIVES.add(Mine)   # in a file given by `--plugin FILE`
    OBJECTIVES["mine"]                                                          # wherever a recipe names it

An entry is a class, or a frozen dataclass, with a name. A module with a registry imports nothing heavy: an entry names
heavy objects as `"module:attribute"`, and `load` imports them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from trainables.errors import UserError, choices, did_you_mean, shown


class Named(Protocol):
    """What every entry has."""

    @property
    def name(self) -> str:
        """What a recipe or a command line calls it."""


E = TypeVar("E", bound=Named)
T = TypeVar("T")


class Registry(Mapping[str, E]):
    """Entries by name, in the order in which they were added. `noun` is what a message calls one of them."""

    changes: ClassVar[int] = 0
    """How often entries of any registry were added or removed; caches of entries depend on it."""
    added: ClassVar[list[tuple[Registry[Any], Named]]] = []
    """All entries of plugins in their order, each with its registry."""

    def __init__(self, noun: str, *entries: E) -> None:
        self.noun = noun
        self._entries: dict[str, E] = {}
        self._lent: set[str] = set()
        self._put(entries)

    def add(self, *entries: E) -> None:
        """Add entries; `UserError` for a name that is taken."""
        self._put(entries)
        Registry.added.extend((self, entry) for entry in entries)

    def _put(self, entries: Iterable[E]) -> None:
        for entry in entries:
            if entry.name in self._entries and entry.name not in self._lent:
                raise UserError(f"the name {entry.name!r} is taken by another {self.noun}; give yours another name")
            self._entries[entry.name] = entry
            self._lent.discard(entry.name)
        Registry.changes += 1

    def lend(self, name: str) -> None:
        """From now on another entry of that name takes this one's place."""
        self._lent.add(name)

    def remove(self, name: str) -> None:
        """Remove an entry, as tests do."""
        del self._entries[name]
        self._lent.discard(name)
        Registry.changes += 1

    def holds(self, entry: Named) -> bool:
        """Whether it has this entry, and not another of the same name."""
        return self._entries.get(entry.name) is entry

    def __getitem__(self, name: str) -> E:
        """The entry of that name. `UserError` with all names if there is none, also from `get`."""
        if name not in self._entries:
            names = choices(map(repr, self._entries))
            hint = did_you_mean(name, self._entries)
            raise UserError(f"there is no {self.noun} {shown(name)}; {hint}the names are {names}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def load(target: Any) -> Any:
    """The object that `"module:attribute"` names; anything but text is the object itself.

    `UserError` where there is no such module or attribute: an entry from outside may be misspelt.
    """
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if not module.startswith(str(error.name)):  # something that the module itself imports is missing
            raise
        raise UserError(f"an entry names {target!r}, but there is no module {error.name!r}") from None
    except AttributeError:
        if attribute in dir(importlib.import_module(module)):
            raise
        raise UserError(f"an entry names {target!r}, but {module} has no {attribute!r}") from None


def classes_in(package: str, kind: type[T]) -> list[type[T]]:
    """The classes of a kind that the modules of a package define with a `name` of their own, in the order of modules'
    names and of lines."""
    folder = importlib.import_module(package).__path__
    modules = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder)]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, kind) and value.__module__ == module.__name__
        if "name" in vars(value)
    ]
