"""Paraphrases by any sequence-to-sequence model, each made once for all trials and seeds.

    paraphrase(["a man plays a guitar"], "prithivida/parrot_paraphraser_on_T5")

`<cache>/paraphrases-<key of the model>.jsonl` stores them, one line per text: SNLI and MultiNLI need some hundred
thousand beam searches. A lock lets one process at a time make paraphrases.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trainables.corpora.cache import default_cache, locked
from trainables.corpora.hub import reachable
from trainables.errors import UserError
from trainables.files import expanded
from trainables.hub_names import on_hub

BATCH = 64
LONGEST = 128
"""Most tokens of a paraphrase."""
BEAMS = 4


def paraphrase(texts: Sequence[str], name: str) -> list[str]:
    """Return a paraphrase of each text by the model `name`, a hub id or folder. Beam search always gives the same."""
    file = default_cache() / f"paraphrases-{_key(name)}.jsonl"
    with locked(file, "paraphrases"):
        paraphrases = _read(file)
        missing = sorted({text for text in texts if text not in paraphrases}, key=len)
        if missing:
            with file.open("a", encoding="utf-8") as lines:
                for made in _generate(missing, name):
                    paraphrases.update(made)
                    lines.writelines(json.dumps(pair) + "\n" for pair in made.items())
                    lines.flush()
    return [paraphrases[text] for text in texts]


def _read(file: Path) -> dict[str, str]:
    """Return the stored paraphrases by text. An incomplete last line is removed from the file."""
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with file.open("r+b") as stream:
            stream.truncate(len(whole))
    return dict(json.loads(line) for line in whole.splitlines())


def _generate(texts: Sequence[str], name: str) -> Iterator[dict[str, str]]:
    """Yield a map from texts to paraphrases for each batch."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    location, revision = on_hub(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        model = AutoModelForSeq2SeqLM.from_pretrained(
            location, revision=revision, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        raise UserError(f"corpus.paraphraser {name!r} cannot be loaded: {str(error).strip().splitlines()[0]}") from None
    model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    prefix = "paraphrase: " if "t5" in model.config.model_type else ""  # as T5 paraphrasers are trained
    for start in range(0, len(texts), BATCH):
        chosen = texts[start : start + BATCH]
        inputs = tokenizer([prefix + text for text in chosen], padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            made = model.generate(**inputs.to(model.device), num_beams=BEAMS, do_sample=False, max_new_tokens=LONGEST)
        done = tokenizer.batch_decode(made, skip_special_tokens=True)
        yield {text: new.strip() for text, new in zip(chosen, done, strict=True)}


def check_paraphraser(name: str | None) -> None:
    """Raise `UserError` if no model is named, it cannot be found, or it is no sequence-to-sequence model."""
    if name is None:
        raise UserError(
            "corpus.augmentation=paraphrase needs corpus.paraphraser: the hub id or folder of a sequence-to-sequence "
            "model"
        )
    _, config = _configuration(name)
    if not config.get("is_encoder_decoder"):
        kind = config.get("model_type", "of unknown type")
        raise UserError(
            f"corpus.paraphraser {name!r} is no sequence-to-sequence model ({kind}); give one like T5, BART or Pegasus"
        )


def _key(name: str) -> str:
    """Return a hash of the model (folder: file sizes and times; hub: commit) and of the settings of the beam search."""
    folder, _ = _configuration(name)
    files = sorted(folder.iterdir()) if expanded(name).is_dir() else []
    stamps = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    identity = [str(folder.resolve()), stamps, LONGEST, BEAMS]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]


def _configuration(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the model's folder (of a hub model, its snapshot in the hub's cache) and its config.json."""
    folder = expanded(name)
    if folder.is_dir():
        try:
            return folder, dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            raise UserError(f"corpus.paraphraser {name!r} is no model folder: it has no readable config.json") from None

    from huggingface_hub import hf_hub_download

    location, revision = on_hub(name)
    answers = reachable()
    try:
        file = Path(hf_hub_download(location, "config.json", local_files_only=not answers, revision=revision))
        return file.parent, dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if answers else "the hub cannot be reached and its cache lacks it"
        raise UserError(f"corpus.paraphraser {name!r} is no local folder, and {reason}; give a folder") from None
