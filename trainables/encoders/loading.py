"""Helpers of functions that load encoders: errors of the hub in one sentence, the device, and a quiet console."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch

from trainables.encoders.module_files import first_module
from trainables.errors import UserError, reason
from trainables.hub_names import on_hub

T = TypeVar("T")
SAFE_ARGUMENTS: dict[str, Any] = {"trust_remote_code": False, "use_safetensors": True}
"""Arguments of `from_pretrained`. Without the first, transformers asks on the console whether to run a model's code."""


def load_safely(name: str, load: Callable[[], T]) -> T:
    """Load something from the hub or a folder, from safetensors only; any error becomes a `UserError`.

    Many errors are possible: transformers, tokenizers and torch trust the content of a model's files.
    """
    try:
        with _no_pickles():
            return load()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the encoder {name!r} cannot be loaded: {reason(error)}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by tokenizers and safetensors, which are written in Rust
            raise
        raise UserError(f"the encoder {name!r} cannot be loaded: {reason(error)}") from None


@contextlib.contextmanager
def _no_pickles() -> Iterator[None]:
    """Make `torch.load` raise inside the block: libraries load pickled weights for a module without safetensors."""
    original = torch.load
    torch.load = _refused
    try:
        yield
    finally:
        torch.load = original


def _refused(*_: Any, **__: Any) -> Any:
    raise ValueError(
        "its weights are a pickle, which can run code when it is read, and only safetensors are read here; whoever "
        "trusts the model can convert it: load it elsewhere and call save_pretrained"
    )


def chosen_device(device: str | None) -> torch.device:
    """Return the requested device; None: a GPU if there is one."""
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def transformer_location(name: str) -> tuple[str, str | None]:
    """Return the folder or hub id of a model's plain transformer, and the revision on the hub. Old
    sentence-transformers models have the transformer in a subfolder."""
    _, folder = first_module(name) or ("", "")
    inner = Path(name) / folder
    return (str(inner), None) if folder and inner.is_dir() else on_hub(name)


def quieten() -> None:
    """Turn off transformers' progress bars and its reports of weights that a checkpoint lacks."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
