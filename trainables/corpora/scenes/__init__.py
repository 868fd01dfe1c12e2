"""The built-in scenes corpus: small scenes from a grammar, and all data of a study, made from these scenes.

    folder = ensure()            # the default corpus, made once in the user's cache
    write(folder, size=10.0)     # a corpus of another size or seed
    vocabulary()                 # every word that can occur

Deterministic by seed, in the file layouts of the real data: `<folder>/senteval/{downstream,probing}`,
`<folder>/nli/{train,dev}.jsonl`, `<folder>/docs/docs.jsonl`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from trainables.corpora.cache import default_cache, write_folder
from trainables.corpora.scenes.files import write_all
from trainables.corpora.scenes.lexicon import lexicon_words
from trainables.corpora.scenes.opinions import opinion_words
from trainables.corpora.scenes.pairs import style_words
from trainables.corpora.scenes.passages import story_words
from trainables.corpora.scenes.probing import probing_words
from trainables.corpora.scenes.questions import question_words
from trainables.corpora.scenes.text import FUNCTION_WORDS
from trainables.errors import UserError


def ensure(folder: Path | None = None) -> Path:
    """Return the folder of the default corpus, which is written first if missing.

    `folder` caches corpora; by default `sentence-embedding-studies` in the user's cache folder. Several processes may
    call this at once.
    """
    place = (folder or default_cache()) / f"scenes-{version()}"
    if not place.is_dir():
        write_folder(place, lambda draft: write_all(draft, 0, 1.0))
    return place


def write(folder: Path, *, seed: int = 0, size: float = 1.0) -> None:
    """Write a corpus into a new or empty folder, completely or not at all. The default corpus has `size` 1."""
    if size <= 0:
        raise UserError(f"the size must be above 0, not {size:g}")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; give a new or empty folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty; give a new or empty folder")
    write_folder(folder, lambda draft: write_all(draft, seed, size))


def vocabulary() -> list[str]:
    """Return every word that a corpus of any seed and size may contain, sorted."""
    parts = (lexicon_words(), opinion_words(), question_words(), probing_words(), story_words(), style_words())
    return sorted(set(FUNCTION_WORDS).union(*parts))


@cache
def version() -> str:
    """Return twelve hexadecimal digits that change with the generator's source and word lists."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.[pt][yx]*")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
