"""A WordNet of a few words, in WordNet's own file format, as a ZIP file like NLTK's."""

from __future__ import annotations

import io
import zipfile

# Part of speech: synsets, each a list of lemmas.
SYNSETS = {
    "n": [["dog", "domestic_dog"], ["inch", "in"], ["guitar"], ["man", "adult_male"]],
    "v": [["chase", "dog", "tail"], ["bark"]],
    "a": [["large", "big"]],
    "r": [["quickly", "rapidly", "speedily"]],
}
NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
EXCEPTIONS = {"n": "men man\n"}
LICENCE = "  1 WordNet 3.0 Copyright: not the real one  \n"


def files() -> dict[str, str]:
    """Name to content."""
    texts = {"lexnames": "".join(f"{i:02}\tname{i}\t1\n" for i in range(45)), "index.sense": "", "cntlist.rev": ""}
    for part, name in NAMES.items():
        data, index = LICENCE, {}
        for lemmas in SYNSETS[part]:
            words = " ".join(f"{lemma} 0" for lemma in lemmas)
            for lemma in lemmas:
                index.setdefault(lemma, []).append(len(data))
            frames = " 00" if part == "v" else ""
            data += f"{len(data):08} 00 {part} {len(lemmas):02x} {words} 000{frames} | a gloss  \n"
        lines = [
            f"{lemma} {part} {len(at)} 0 {len(at)} 0 {' '.join(f'{offset:08}' for offset in at)}  \n"
            for lemma, at in sorted(index.items())
        ]
        texts |= {f"data.{name}": data, f"index.{name}": LICENCE + "".join(lines)}
        texts[f"{name}.exc"] = EXCEPTIONS.get(part, "")
    return texts


def packed() -> bytes:
    """The ZIP file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files().items():
            archive.writestr(f"wordnet/{name}", text)
    return content.getvalue()


def counts() -> dict[str, int]:
    """Synsets by data file."""
    return {f"data.{name}": len(SYNSETS[part]) for part, name in NAMES.items()}
