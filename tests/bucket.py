"""A local S3 server, and folders to bring to it and back: what the tests of places and of transports share."""

from __future__ import annotations

import contextlib
import filecmp
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

BUCKET = "studies"


@contextlib.contextmanager
def local_s3() -> Iterator[str]:
    """A local S3 with one bucket; what its URLs need behind the question mark."""
    moto = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        query = f"endpoint_override=127.0.0.1:{moto.get_host_and_port()[1]}&scheme=http"
        with pytest.MonkeyPatch.context() as patch:
            give_credentials(patch)
            files, _ = fs.FileSystem.from_uri(f"s3://{BUCKET}/x?{query}&allow_bucket_creation=true")
            files.create_dir(BUCKET)
        yield query
    finally:
        moto.stop()


def give_credentials(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def model(folder: Path, size: int = 1000, seed: int = 0) -> Path:
    """A folder with folders, an empty file and one of so many bytes."""
    chance = random.Random(seed)
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(chance.randbytes(size))
    (folder / "1_Pooling" / "config.json").write_text(f'{{"seed": {seed}}}')
    (folder / "empty").touch()
    return folder


def same(first: Path, second: Path) -> bool:
    """Whether two folders hold the same files, byte for byte."""
    names = [sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file()) for folder in (first, second)]
    return names[0] == names[1] and all(filecmp.cmp(first / n, second / n, shallow=False) for n in names[0])
