"""The model and data hub: is it there, and how not to wait for it where it is not.

Without a network the hub's clients retry for half a minute and print every attempt. One short request
tells whether the hub answers; where it does not, the clients are told to look into their cache only.
"""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PROBE_SECONDS = 5.0


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
