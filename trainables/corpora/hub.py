"""The model and data hub: is it there, and how not to wait for it where it is not.

Without a network the hub's clients retry for half a minute and print every attempt. One short request
tells whether the hub answers; where it does not, the clients are told to look into their cache only.
"""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trainables.errors import UserError, reason
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
def cache_only_unless_reachable() -> Iterator[bool]:
    """Inside, `datasets` reads its cache alone where the hub does not answer; yields whether it answers."""
    import datasets
    from huggingface_hub import constants

    answers = reachable()
    switches: tuple[Any, ...] = () if answers else (constants, datasets.config)
    before = [module.HF_HUB_OFFLINE for module in switches]
    for module in switches:
        module.HF_HUB_OFFLINE = True
    try:
        yield answers
    finally:
        for module, value in zip(switches, before, strict=True):
            module.HF_HUB_OFFLINE = value


@contextmanager
def open_hub(source: str, subject: str, instead: str) -> Iterator[tuple[Any, bool]]:
    """The module `datasets`, and whether the hub answers. What fails inside becomes a `UserError`.

    Its sentence begins with `subject`, like "the documents 'owner/name' are", and says what to give `instead`.
    """
    import datasets

    with cache_only_unless_reachable() as answers:
        try:
            yield datasets, answers
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            if answers:
                raise UserError(f"the hub data set {source!r} cannot be loaded: {reason(error)}") from None
            raise UserError(
                f"{subject} neither a local path nor in the hub's cache, and the hub cannot be reached; give {instead}"
                ", set HF_HOME to a filled cache, or use 'scenes'"
            ) from None
