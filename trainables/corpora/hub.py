"""The model and data hub: is it there, and how not to wait for it where it is not; data sets of it, or of its form.

    load_data_set("owner/name@1f2a3b:configuration:split")      # each of the three but the name may be left out
    load_data_set("./folder:configuration:split")               # of a folder as the hub has it, or of save_to_disk

Without a network the hub's clients retry for half a minute and print every attempt. One short request
tells whether the hub answers; where it does not, the clients are told to look into their cache only.
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

from trainables.errors import SHORT, UserError, choices, sentence, words_of
from trainables.files import expanded
from trainables.hub_names import is_id, on_hub

PROBE_SECONDS = 5.0
_FILE_LIKE = re.compile(r"\.(jsonl?|csv|tsv|txt|md|parquet|arrow|gz|zip|xz|zst)$", re.IGNORECASE)


def is_hub_id(text: str) -> bool:
    """Whether that can be a hub id, `owner/name` or `owner/name@revision`, and is not written like a path. `UserError`
    for a revision that cannot be one."""
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
        return isinstance(error.reason, ssl.SSLError)  # it answers; let the client say what is wrong
    except OSError:
        return False
    return True


@contextmanager
def open_hub(source: str, subject: str, instead: str) -> Iterator[tuple[Any, bool]]:
    """The module `datasets`, and whether the hub answers; where it does not, `datasets` reads its cache alone.

    An error inside becomes a `UserError` that begins with `subject` and says what to give `instead`.
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
    """On the hub, or a folder."""
    revision: str | None
    configuration: str | None
    split: str | None
    """Of it, or a part of one as `train[:1000]`."""

    @classmethod
    def of(cls, text: str) -> DataSet:
        """`UserError` for a revision that cannot be one."""
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
    def place(self) -> str:
        """As `datasets` takes it."""
        return str(self.folder or self.name)


def is_data_set(text: str) -> bool:
    """Whether a text can be the name of a data set of the hub, or is a folder and one of its splits. `UserError` for a
    revision that cannot be one."""
    name, colon, _ = text.partition(":")
    return is_hub_id(name) or bool(colon and expanded(name).is_dir())


def check_data_set(text: str) -> None:
    """Raise `UserError` if a data set is not there; its rows are not fetched."""
    data_set = DataSet.of(text)
    with _opened(text, data_set) as datasets:
        if not is_saved(data_set.folder):
            datasets.load_dataset_builder(data_set.place, data_set.configuration, revision=data_set.revision)


def configurations(text: str) -> list[str]:
    """Those that a data set has; none where it was saved by `datasets`."""
    data_set = DataSet.of(text)
    with _opened(text, data_set) as datasets:
        saved = is_saved(data_set.folder)
        return [] if saved else datasets.get_dataset_config_names(data_set.place, revision=data_set.revision)


def load_data_set(text: str, usual: Sequence[str] = ("train",)) -> Any:
    """The split that a text names, as a `datasets.Dataset`; of one that names none the first of the usual ones that is
    there, or the only one. `UserError` where it is not there, or it is not clear which is meant."""
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
                data_set.place, data_set.configuration, split=data_set.split, revision=data_set.revision
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
    """Whether it was saved by `datasets`: a folder of splits, or of one."""
    return folder is not None and any((folder / name).is_file() for name in ("dataset_dict.json", "state.json"))


@contextmanager
def _opened(text: str, data_set: DataSet) -> Iterator[Any]:
    """The module `datasets`; what fails inside becomes a `UserError`."""
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
    """All lines, as one of several names the configurations that there are."""
    return sentence(words_of(error), SHORT)
