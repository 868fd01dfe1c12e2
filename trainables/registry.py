"""Registries: components by name, of this repository or of plugins.

    OBJECTIVES.add(Mine)   # in a file given by `--plugin FILE`
    OBJECTIVES["mine"]     # where a recipe names it

An entry is a class with a name, or an instance of a frozen dataclass. A module with a registry imports nothing heavy:
an entry names heavy objects as `"module:attribute"`, and `load` imports them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from trainables.errors import UserError, choices, did_you_mean, shown


class Named(Protocol):
    """The protocol of all entries of registries: they have a name."""

    @property
    def name(self) -> str:
        """The name in a recipe or on a command line."""


E = TypeVar("E", bound=Named)
T = TypeVar("T")


class Registry(Mapping[str, E]):
    """Entries by name, in the order in which they were added. `noun`: the word for an entry in messages."""

    changes: ClassVar[int] = 0
    """Number of additions and removals in all registries. Caches of what registries decide have it in their keys."""
    added: ClassVar[list[tuple[Registry[Any], Named]]] = []
    """All entries of plugins in the order of addition, each with its registry."""

    def __init__(self, noun: str, *entries: E) -> None:
        self.noun = noun
        self._entries: dict[str, E] = {}
        self._replaceable: set[str] = set()
        self._put(entries)

    def add(self, *entries: E) -> None:
        """Add entries. Raises `UserError` for a name that is taken."""
        self._put(entries)
        Registry.added.extend((self, entry) for entry in entries)

    def _put(self, entries: Iterable[E]) -> None:
        for entry in entries:
            if entry.name in self._entries and entry.name not in self._replaceable:
                raise UserError(f"the name {entry.name!r} is taken by another {self.noun}; give yours another name")
            self._entries[entry.name] = entry
            self._replaceable.discard(entry.name)
        Registry.changes += 1

    def allow_replacement(self, name: str) -> None:
        """Allow another entry to replace the entry of this name."""
        self._replaceable.add(name)

    def remove(self, name: str) -> None:
        """Remove an entry."""
        del self._entries[name]
        self._replaceable.discard(name)
        Registry.changes += 1

    def holds(self, entry: Named) -> bool:
        """Return whether this very entry is registered, not another one of the same name."""
        return self._entries.get(entry.name) is entry

    def __getitem__(self, name: str) -> E:
        """Return the entry of a name. Raises `UserError` with all names if there is none, also in `get`."""
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
    """Import and return the object that `"module:attribute"` names. Other values than text are returned unchanged.

    Raises `UserError` for a missing module or attribute, as an entry of a plugin may be misspelt.
    """
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if not module.startswith(str(error.name)):  # an import inside the module failed
            raise
        raise UserError(f"an entry names {target!r}, but there is no module {error.name!r}") from None
    except AttributeError:
        if attribute in dir(importlib.import_module(module)):
            raise
        raise UserError(f"an entry names {target!r}, but {module} has no {attribute!r}") from None


def classes_in(package: str, kind: type[T]) -> list[type[T]]:
    """Return the subclasses of `kind` that the modules of a package define with their own `name`, in the order of
    module names and lines."""
    folder = importlib.import_module(package).__path__
    modules = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder)]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, kind) and value.__module__ == module.__name__
        if "name" in vars(value)
    ]
