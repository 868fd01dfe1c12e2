"""What loaders share: errors of the hub in one sentence, the device, and a quiet console."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from trainables.errors import UserError
from trainables.lines import first_line

T = TypeVar("T")


def hub_errors(name: str, load: Callable[[], T]) -> T:
    """Load something from the hub or a folder; what can go wrong there becomes a `UserError`.

    Anything can: transformers, tokenizers and torch take what a model's files say on trust.
    """
    try:
        return load()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the encoder {name!r} cannot be loaded: {first_line(error)}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of tokenizers and safetensors, which are written in Rust
            raise
        raise UserError(f"the encoder {name!r} cannot be loaded: {first_line(error)}") from None


def chosen_device(device: str | None) -> torch.device:
    """The device that was asked for; None: a GPU where there is one."""
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def transformer_folder(name: str) -> str:
    """Where the plain transformer lies: old sentence-transformers models have it one folder down."""
    inner = Path(name) / "0_Transformer"
    return str(inner) if inner.is_dir() else name


def quieten() -> None:
    """No progress bars of transformers on the console, and no reports of weights that a checkpoint lacks."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
