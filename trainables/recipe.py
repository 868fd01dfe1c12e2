"""The recipe: everything that defines one trained model, in one frozen, validated, hashed value.

`flat()` returns the dotted keys (`objective.temperature`) that Ray Tune, Optuna, `--set` and the tables use. A recipe
has the keys of its sections (`trainables/sections.py`) and of the components that these choose (objective, layout,
...), without keys that would have no effect. `trainables/keys.py` defines keys. This module imports nothing heavy.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

from trainables.errors import UserError, choices, did_you_mean, shown
from trainables.fingerprints import fingerprints, identity, relocate
from trainables.keys import Key, Options, Value, keys_of, options_of, parse, validate
from trainables.registry import Registry
from trainables.sections import (
    SCENES,
    SCENES_ENCODER,
    CorpusConfig,
    EncoderConfig,
    HeadConfig,
    ObjectiveConfig,
    OptimisationConfig,
    PoolingConfig,
)

__all__ = [
    "FIDELITY",
    "SCENES",
    "SCENES_ENCODER",
    "CorpusConfig",
    "EncoderConfig",
    "HeadConfig",
    "ObjectiveConfig",
    "OptimisationConfig",
    "PoolingConfig",
    "Recipe",
    "Value",
    "choosers",
    "deciding_keys",
    "existing_keys",
    "keys",
    "parse_assignment",
]

SECTIONS: tuple[type[Options], ...] = (
    EncoderConfig,
    PoolingConfig,
    HeadConfig,
    CorpusConfig,
    ObjectiveConfig,
    OptimisationConfig,
)
ORDER = ("encoder", "pooling", "head", "corpus", "spans", "objective", "optimisation")
"""The order of keys, by their sections; other sections come last."""
FIDELITY = "objective.fidelity"
"""A preset, not a key. With `released`, unset keys have the values of the authors' released code where it differs from
the paper's text: `released` of the objective and of the layout."""
PRESETS = {FIDELITY: ("paper", "released")}
SCHEMA = 1
"""Version number in the hash of every recipe. A new number changes all hashes."""
_TRAINING = ("head", "spans", "objective", "optimisation")
"""Sections that have no keys in a recipe that trains nothing, except the number of epochs."""
_DECIDES_TRAINING = ("optimisation.epochs", "encoder.kind", "encoder.adapter")

P = TypeVar("P", bound=Options)
_Parts: TypeAlias = tuple[Mapping[str, Value], tuple[Options, ...]]
"""The keys of a recipe with their values, and its parts."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """All settings of one trained model, except its seed and its evaluation (`trainables.evaluation_config`)."""

    settings: Mapping[str, Value] = field(default_factory=dict)
    """The values that were set, by flat key. They may include keys of components that are not chosen."""

    def __post_init__(self) -> None:
        settings = {name: tuple(value) if isinstance(value, list) else value for name, value in self.settings.items()}
        types = tuple(map(type, settings.values()))  # 1 and True are equal, but different values
        key = Registry.changes, tuple(settings.items()), types
        try:
            self.__dict__.update(_made(*key))
        except TypeError:  # an unhashable value, which is always invalid
            self.__dict__.update(_made.__wrapped__(*key))

    @cached_property
    def _read(self) -> _Parts:
        """Keys and parts of a recipe that another process pickled. They are read late, as plugins may run first."""
        return Recipe(self.settings)._read

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the settings."""
        return {"settings": self.settings}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.flat() == other.flat()

    def __hash__(self) -> int:
        return hash(tuple(self.flat().items()))

    def __repr__(self) -> str:
        return f"Recipe({dict(self.settings)!r})"

    def flat(self) -> dict[str, Value]:
        """Return all keys of the recipe with their values: `{"objective.temperature": 1.0, ...}`."""
        return dict(self._read[0])

    def part(self, kind: type[P]) -> P:
        """Return the section or chosen component of a class, e.g. `recipe.part(Layout)`."""
        return next(part for part in self._read[1] if isinstance(part, kind))

    def has(self, kind: type[Options]) -> bool:
        """Return whether the recipe has a part of this class."""
        return any(isinstance(part, kind) for part in self._read[1])

    @property
    def encoder(self) -> EncoderConfig:
        return self.part(EncoderConfig)

    @property
    def pooling(self) -> PoolingConfig:
        return self.part(PoolingConfig)

    @property
    def head(self) -> HeadConfig:
        return self.part(HeadConfig)

    @property
    def corpus(self) -> CorpusConfig:
        return self.part(CorpusConfig)

    @property
    def objective(self) -> ObjectiveConfig:
        return self.part(ObjectiveConfig)

    @property
    def optimisation(self) -> OptimisationConfig:
        return self.part(OptimisationConfig)

    def override(self, changes: Mapping[str, Any]) -> Recipe:
        """Return a recipe with some flat keys replaced. Raises `UserError` for unknown keys, invalid values, and keys
        that the new recipe does not have."""
        made = self.preferring(changes)
        for name in (name if name in PRESETS else _find(name).name for name in changes):
            if name not in made._read[0] and name not in PRESETS:
                raise UserError(made.why_not(name))
        return made

    def preferring(self, changes: Mapping[str, Any]) -> Recipe:
        """Return a recipe as `override` does, but store keys that the new recipe does not have instead of raising."""
        return Recipe({**self.settings, **changes})

    def why_not(self, name: str) -> str:
        """Return a message that explains why this recipe does not have the key `name`, which is known."""
        if not self.trains and not _ActiveSections(trains=False, fits=False, pools=True).has(name):
            return f"{name} changes nothing where nothing is trained; leave it out"
        if not _ActiveSections(trains=True, fits=True, pools=_ActiveSections.of(self.settings).pools).has(name):
            return f"{name} changes nothing where encoder.kind is {self.encoder.kind}; leave it out"
        for part in self._read[1]:
            for item in keys_of(type(part)).values():
                if item.name == name and item.when is not None:
                    other = keys_of(type(part))[item.when[0]].name
                    value = self.flat().get(other)
                    return f"{name} changes nothing where {other} is {'none' if value is None else value}; leave it out"
        for chooser, names in choosers(name).items():
            if chooser in self.flat():
                chosen = f"{chooser}={self.flat()[chooser]}"
                return f"{chosen} has no {name}; leave it out, or take {chooser} {choices(map(repr, names))}"
        return f"{name} changes nothing in this recipe; leave it out"

    @property
    def trains(self) -> bool:
        """Whether a trial trains anything. If not, it evaluates the original encoder."""
        return _ActiveSections.of(self.settings).trains

    @property
    def uses_seed(self) -> bool:
        """Whether scores depend on the seed: something is trained, or an adapter or token vectors are random. LoRA
        without training adds nothing to the encoder."""
        return self.trains or self.encoder.adapter == "mlp" or self.flat().get("encoder.start") == "random"

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Recipe:
        """Return the recipe with these values of flat keys. The inverse of `flat()`, also after storage as JSON."""
        return cls().override(values)

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits that identify the recipe; see `hash_with`."""
        return self.hash_with({})

    def hash_with(self, by_path: Mapping[str, str]) -> str:
        """Return the hash of `hashed_keys(by_path)`."""
        text = json.dumps([SCHEMA, self.hashed_keys(by_path)], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def hashed_keys(self, by_path: Mapping[str, str]) -> dict[str, Any]:
        """Return the keys that are not at their defaults. Local files and folders are replaced by fingerprints of their
        content. `by_path`: fingerprints by path, also of paths that no longer exist."""
        by_name = keys()
        return {
            name: identity(value, by_name[name].subfolder, by_path)
            if by_name[name].is_path and isinstance(value, str)
            else value
            for name, value in self.flat().items()
            if value != by_name[name].default
        }

    def relocate(self, by_path: Mapping[str, str]) -> Recipe:
        """Return the recipe with the present paths of moved files. `by_path`: fingerprints by path, old and new."""
        by_name = keys()
        moved = {
            name: relocate(value, by_name[name].subfolder, by_path)
            for name, value in self.flat().items()
            if by_name[name].is_path and isinstance(value, str)
        }
        return self.override(moved)

    @property
    def places(self) -> dict[str, str]:
        """Fingerprints of the local files and folders that count in the hash, by path."""
        named = [(keys()[name], value) for name, value in self.flat().items()]
        digits = [
            fingerprints(value, item.subfolder) for item, value in named if item.is_path and isinstance(value, str)
        ]
        return {path: digest for each in digits for path, digest in each.items()}


def keys() -> Mapping[str, Key]:
    """Return every flat key that a recipe can have, with its definition."""
    return _key_index(Registry.changes).by_name


def changed(base: Mapping[str, Value], recipe: Mapping[str, Value]) -> dict[str, Value]:
    """Return the flat keys in which a recipe differs from the base. A key that the base lacks counts if it is not at
    its default."""
    by_name, unset = keys(), object()
    left = {name: by_name[name].default if name in by_name else unset for name in recipe}
    return {name: value for name, value in recipe.items() if value != base.get(name, left[name])}


def existing_keys(flat: Mapping[str, Value]) -> frozenset[str]:
    """Return the names of the keys of a recipe with the values `flat`, and with defaults for other keys."""
    index = _key_index(Registry.changes)
    return _existing(Registry.changes, tuple((name, flat[name]) for name in index.deciders if name in flat))


def deciding_keys(name: str) -> frozenset[str]:
    """Return the keys that decide whether a recipe has the key `name`."""
    return _key_index(Registry.changes).deciding[name]


def choosers(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the keys that can choose a component which has the key `name`, each with the names of such components."""
    return _key_index(Registry.changes).owners.get(name, {})


def parse_assignment(text: str) -> tuple[str, Value]:
    """Parse `"objective.temperature=0.5"` or `"tau=0.5"` to a flat key and a typed value."""
    name, equals, raw = text.partition("=")
    if not equals:
        raise UserError(f"--set {text!r} has no '='; write it as KEY=VALUE, e.g. objective.temperature=0.5")
    if name.strip() in PRESETS:
        return next(_parsed([(name.strip(), raw.strip())]))
    item = _find(name.strip())
    return item.name, parse(item, raw if item.keep_blanks else raw.strip())


@dataclass(frozen=True)
class _KeyIndex:
    """The keys of all sections and registered components."""

    by_name: Mapping[str, Key]
    owners: Mapping[str, Mapping[str, tuple[str, ...]]]
    """For each key, the keys that can choose a component with this key, each with the names of such components."""
    deciding: Mapping[str, frozenset[str]]
    deciders: tuple[str, ...]


@functools.lru_cache(maxsize=1)
def _key_index(changes: int) -> _KeyIndex:
    """Gather all keys. `changes`: `Registry.changes`, so that the cache follows the registries."""
    by_name: dict[str, Key] = {}
    owners: dict[str, dict[str, tuple[str, ...]]] = {}
    direct: dict[str, set[str]] = {}

    def gather(part: type[Options], chooser: str | None, chosen: str) -> None:
        for item in keys_of(part).values():
            if replace(by_name.setdefault(item.name, item), when=item.when) != item:
                raise UserError(
                    f"{part.__name__} defines {item.name} otherwise than it is defined already; inherit the key, or "
                    "give yours another name"
                )
            causes = direct.setdefault(item.name, set())
            if chooser is not None:
                names = owners.setdefault(item.name, {})
                names[chooser] = (*dict.fromkeys((*names.get(chooser, ()), chosen)),)
                causes.add(chooser)
            if item.when is not None:
                causes.add(keys_of(part)[item.when[0]].name)
            if not _ActiveSections(trains=False, fits=True, pools=True).has(item.name):
                causes.update(_DECIDES_TRAINING)
            elif not _ActiveSections(trains=False, fits=False, pools=True).has(item.name):
                causes.update((*_DECIDES_TRAINING, "pooling.after"))
            elif not _ActiveSections(trains=True, fits=True, pools=False).has(item.name):
                causes.add("encoder.kind")
            if item.names is not None:
                for name, entry in item.names.items():
                    brought = options_of(entry)
                    if brought is not None:
                        gather(brought, item.name, name)

    for section in SECTIONS:
        gather(section, None, "")
    deciding = {name: _closed(name, direct) for name in by_name}
    order = sorted(by_name, key=_section_index)
    deciders = tuple(name for name in order if any(name in others for others in deciding.values()))
    return _KeyIndex({name: by_name[name] for name in order}, owners, deciding, deciders)


def _closed(name: str, direct: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return all keys that decide whether the key `name` exists, from the keys that decide it directly (`direct`)."""
    reached, waiting = set[str](), [*direct[name]]
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += direct[other]
    return frozenset(reached - {name})


@functools.lru_cache(maxsize=4096)
def _made(changes: int, items: tuple[tuple[str, Any], ...], types: tuple[type, ...]) -> Mapping[str, Any]:
    """Return the attributes of a `Recipe` with these settings. Cached, as reports make the same recipes often."""
    settings = dict(_parsed(items))
    return {"settings": settings, "_read": _read({**_released(settings), **settings})}


def _read(settings: Mapping[str, Value]) -> _Parts:
    """Return the keys with values, and the parts, of the recipe with these settings."""
    values, parts = dict[str, Value](), list[Options]()
    active = _ActiveSections.of(settings)

    def read(part: type[Options], present: bool) -> None:
        items = keys_of(part)
        whole = _part(part, {name: settings.get(item.name, item.default) for name, item in items.items()})
        has = {name: present and active.has(item.name) and _exists(item, whole, active) for name, item in items.items()}
        made = whole if all(has.values()) else _part(part, {name: getattr(whole, name) for name in items if has[name]})
        parts.append(made)
        for name, item in items.items():
            if has[name]:
                values[item.name] = getattr(made, name)
            brought = options_of(item.names[getattr(made, name)]) if item.names is not None else None
            if brought is not None:
                read(brought, has[name])

    for section in SECTIONS:
        read(section, True)
    return dict(sorted(values.items(), key=lambda item: _section_index(item[0]))), tuple(parts)


def _part(part: type[Options], values: Mapping[str, Any]) -> Options:
    """Return the part with these values. Cached, as recipes of a study have most parts in common."""
    own, kind = tuple(values.values()), cast("Hashable", part)  # mypy confuses the class with its instances
    return _kept_part(Registry.changes, kind, tuple(values), own, tuple(map(type, own)))


@functools.lru_cache(maxsize=4096)
def _kept_part(
    changes: int, part: Any, names: tuple[str, ...], values: tuple[Any, ...], types: tuple[type, ...]
) -> Options:
    made: Options = part(**dict(zip(names, values, strict=True)))
    return made


def _released(settings: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that the preset `objective.fidelity=released` sets; empty if the settings do not choose it."""
    if settings.get(FIDELITY) != "released":
        return {}
    preset: dict[str, Value] = {}
    for name in ("objective.name", "corpus.layout"):
        item = keys()[name]
        assert item.names is not None
        preset |= item.names[str(settings.get(name, item.default))].released
    return preset


@functools.lru_cache(maxsize=4096)
def _existing(changes: int, values: tuple[tuple[str, Value], ...]) -> frozenset[str]:
    return frozenset(Recipe(dict(values)).flat())


def _exists(item: Key, part: Options, active: _ActiveSections) -> bool:
    """Return whether the part has the key. `when` tests the value of another field, or the component that it names."""
    if item.when is None:
        return True
    other, condition = item.when
    decides, value = keys_of(type(part))[other], getattr(part, other)
    return active.has(decides.name) and bool(condition(value if decides.names is None else decides.names[value]))


@dataclass(frozen=True)
class _ActiveSections:
    """Decides which sections of a recipe have an effect."""

    trains: bool
    fits: bool
    """Whether something is fitted to the training sentences, by training or by `pooling.after`."""
    pools: bool
    """Whether the encoder's token states are pooled by `pooling.mode`."""

    @classmethod
    def of(cls, settings: Mapping[str, Value]) -> _ActiveSections:
        encoder = keys_of(EncoderConfig)
        epochs, after = keys_of(OptimisationConfig)["epochs"], keys_of(PoolingConfig)["after"]
        kind, adapter = (settings.get(encoder[name].name, encoder[name].default) for name in ("kind", "adapter"))
        assert encoder["kind"].names is not None
        entry = encoder["kind"].names[str(kind)]
        trains = bool(settings.get(epochs.name, epochs.default)) and (adapter != "none" or entry.trainable)
        return cls(trains, trains or settings.get(after.name, after.default) != "none", entry.pools)

    def has(self, name: str) -> bool:
        section = name.partition(".")[0]
        if section == "pooling" and name != "pooling.after":
            return self.pools and (self.trains or name != "pooling.padding")
        if section == "corpus":
            return self.fits
        return self.trains or section not in _TRAINING or name == "optimisation.epochs"


def _section_index(name: str) -> int:
    section = name.partition(".")[0]
    return ORDER.index(section) if section in ORDER else len(ORDER)


def _parsed(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Value]]:
    """Yield flat keys and valid values; raise `UserError` for unknown names and invalid values."""
    for name, value in items:
        if name in PRESETS:
            if value not in PRESETS[name]:
                raise UserError(f"{name} must be {choices(map(repr, PRESETS[name]))}, not {shown(value)}")
            yield name, value
        else:
            item = _find(name)
            yield item.name, validate(item, value)


def _find(name: str) -> Key:
    """Return the key with a flat name or alias. Raises `UserError` with the most similar name if there is none."""
    by_name = keys()
    if name in by_name:
        return by_name[name]
    for item in by_name.values():
        if item.alias == name:
            return item
    section = f"{name.rpartition('.')[2]}."  # for `encoder.pooling`: `pooling.`
    like = next((key for key in by_name if key.startswith(section)), name)
    hint = did_you_mean(like, by_name).rstrip() or "`--keys` prints them all"
    raise UserError(f"{shown(name)} is not a key of a recipe; {hint}")
