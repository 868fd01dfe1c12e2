"""Data sets from the Hugging Face hub or from local folders, and a check whether the hub can be reached.

    load_data_set("owner/name@1f2a3b:configuration:split")      # revision, configuration and split are optional
    load_data_set("./folder:configuration:split")               # a folder in the hub's form, or of save_to_disk

Without a network, the hub's clients retry for half a minute and print every attempt. So one short request
checks whether the hub answers; if it does not, the clients read only their cache.
"""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from trainables.errors import MAX_REASON_LENGTH, UserError, choices, message_of, sentence
from trainables.files import expanded
from trainables.hub_names import is_id, on_hub

PROBE_SECONDS = 5.0
_FILE_LIKE = re.compile(r"\.(jsonl?|csv|tsv|txt|md|parquet|arrow|gz|zip|xz|zst)$", re.IGNORECASE)


def is_hub_id(text: str) -> bool:
    """Whether a text can be a hub id, `owner/name` or `owner/name@revision`, and does not look like a path.
    `UserError` for an invalid revision."""
    return not _FILE_LIKE.search(text) and is_id(text if text[:1] in "./~" else on_hub(text)[0])


def reachable() -> bool:
    """Whether the hub answers one short request (any answer counts; proxies and `HF_ENDPOINT` are honoured)."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        urllib.request.urlopen(urllib.request.Request(constants.ENDPOINT, method="HEAD"), timeout=PROBE_SECONDS)
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # the hub answers; its client reports the problem
    except OSError:
        return False
    return True


@contextmanager
def open_hub(source: str, subject: str, instead: str) -> Iterator[tuple[Any, bool]]:
    """Yield the module `datasets`, and whether the hub answers; if it does not, `datasets` reads only its cache.

    An error in the `with` block becomes a `UserError`. If the hub does not answer, its message starts with `subject`
    and suggests `instead`.
    """
    import datasets
    from huggingface_hub import constants

    answers = reachable()
    switches: tuple[Any, ...] = () if answers else (constants, datasets.config)
    before = [module.HF_HUB_OFFLINE for module in switches]
    for module in switches:
        module.HF_HUB_OFFLINE = True
    try:
        yield datasets, answers
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        if answers:
            raise UserError(f"the data set {source!r} of the hub cannot be loaded: {_reason(error)}") from None
        raise UserError(
            f"{subject} neither a local path nor in the hub's cache, and the hub cannot be reached; give {instead}"
            ", set HF_HOME to a filled cache, or use 'scenes'"
        ) from None
    finally:
        for module, value in zip(switches, before, strict=True):
            module.HF_HUB_OFFLINE = value


class DataSet(NamedTuple):
    """The parts of a data set's name, `name@revision:configuration:split`."""

    name: str
    """Name on the hub, or path of a folder."""
    revision: str | None
    configuration: str | None
    split: str | None
    """Name of a split, or a slice of a split, such as `train[:1000]`."""

    @classmethod
    def of(cls, text: str) -> DataSet:
        """Parse a name; an existing path is the whole name. `UserError` for an invalid revision."""
        if expanded(text).exists():
            return cls(text, None, None, None)
        name, _, rest = text.partition(":")
        configuration, _, split = rest.partition(":")
        return cls(*on_hub(name), configuration or None, split or None)

    @property
    def folder(self) -> Path | None:
        """The local folder; None for a data set of the hub."""
        path = expanded(self.name)
        return path if path.is_dir() else None

    @property
    def location(self) -> str:
        """The path or hub name to give to `datasets`."""
        return str(self.folder or self.name)


def is_data_set(text: str) -> bool:
    """Whether a text can name a data set of the hub, or a local folder with a configuration or split. `UserError` for
    an invalid revision."""
    name, colon, _ = text.partition(":")
    return is_hub_id(name) or bool(colon and expanded(name).is_dir())


def check_data_set(text: str) -> None:
    """Raise `UserError` if a data set does not exist; its rows are not fetched."""
    data_set = DataSet.of(text)
    with _opened(text, data_set) as datasets:
        if not is_saved(data_set.folder):
            datasets.load_dataset_builder(data_set.location, data_set.configuration, revision=data_set.revision)


def configurations(text: str) -> list[str]:
    """Return the names of a data set's configurations; none if `save_to_disk` made it."""
    data_set = DataSet.of(text)
    with _opened(text, data_set) as datasets:
        saved = is_saved(data_set.folder)
        return [] if saved else datasets.get_dataset_config_names(data_set.location, revision=data_set.revision)


def load_data_set(text: str, usual: Sequence[str] = ("train",)) -> Any:
    """Return the split that `text` names, as a `datasets.Dataset`. If `text` names no split: the first existing split
    of `usual`, or the only split. `UserError` if there is no such split, or several could be meant."""
    data_set = DataSet.of(text)
    with _opened(text, data_set) as datasets:
        if is_saved(data_set.folder):
            data = datasets.load_from_disk(str(data_set.folder))
            if not isinstance(data, dict) and data_set.split not in (None, str(data.split)):
                raise UserError(
                    f"{data_set.name} was saved as the split {str(data.split)!r}, and {text!r} names another"
                )
        else:
            data = datasets.load_dataset(
                data_set.location, data_set.configuration, split=data_set.split, revision=data_set.revision
            )
    if not isinstance(data, dict):
        return data
    split = data_set.split or next((name for name in usual if name in data), None)
    if split is None and len(data) == 1:
        (split,) = data
    if split not in data:
        example = ":".join([data_set.name, "", [*data][-1]])
        raise UserError(f"the data set {text!r} has the splits {choices(data)}; name one, as in {example}")
    return data[split]


def is_saved(folder: Path | None) -> bool:
    """Whether `datasets.save_to_disk` made a folder, of one split or of several."""
    return folder is not None and any((folder / name).is_file() for name in ("dataset_dict.json", "state.json"))


@contextmanager
def _opened(text: str, data_set: DataSet) -> Iterator[Any]:
    """Yield the module `datasets`. An error in the `with` block becomes a `UserError`."""
    import datasets

    if data_set.folder is None:
        with open_hub(text, f"the data set {text!r} is", "a local folder or file") as (hub, _):
            yield hub
        return
    try:
        yield datasets
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"the data set {text!r} cannot be loaded: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return all lines of an error's message: one of them may list the existing configurations."""
    return sentence(message_of(error), MAX_REASON_LENGTH)
