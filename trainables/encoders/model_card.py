"""The README of a saved model: its use, scores, training and data.

    write_card(folder, model_card(recipe.flat(), evaluation, seed, scores, data, training))

The card contains no sentence of the data. Importing this module is light.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trainables.encoders.pooling import POOLINGS, Pooling
from trainables.evaluation_config import EvaluationConfig
from trainables.files import expanded, write_whole
from trainables.hub_names import is_id
from trainables.keys import Value
from trainables.lines import one_line

README = "README.md"
_PATH = re.compile(r"(?<![^\s,;(\"'=])/(?=[^\s/])[^,]*")
"""An absolute path, which may contain spaces. In a list it ends at the comma."""
_MARKS = re.compile(r"[\\`*_|<>\[\]#~$]|&(?=#?\w+;)|:(?=//)|(?<=www)\.|@")
"""Characters with a meaning within a line of markdown."""
_USE = """\
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer("PATH/TO/THIS/FOLDER")
    embeddings = model.encode(["two dogs run", "some animals move"])  # one row for each sentence
    print(model.similarity(embeddings, embeddings))
"""


def model_card(
    recipe: Mapping[str, Value],
    evaluation: EvaluationConfig,
    seed: int,
    scores: Mapping[str, Mapping[str, object]],
    data: Mapping[str, object],
    training: Mapping[str, object] | None = None,
) -> str:
    """Return markdown with YAML on top, as the hub reads it.

    `recipe` is `Recipe.flat()`. `scores` contains the numbers of each SentEval task, in percent, `data` the trial's
    description of its data, `training` the numbers measured while it trained.
    """
    encoder = str(recipe["encoder.name"])
    lines = [
        *_front_matter(encoder),
        "",
        f"# Sentence embeddings: {_inline(recipe.get('objective.name', 'untrained'))} on {_inline(Path(encoder).name)}",
        "",
        f"A sentence-transformers model. It needs sentence-transformers {_oldest(recipe)} or later, and no code of its "
        "own.",
        "",
        "## Use",
        "",
        *_USE.splitlines(),
        "",
        "## Scores",
        "",
        f"In percent; SentEval's tasks under the protocol `{_inline(evaluation.protocol)}`.",
        "",
        *_table(("task", "examples", "scores"), (_score_row(task, numbers) for task, numbers in scores.items())),
        "",
    ]
    if recipe.get("pooling.padding") == "count":
        lines += ["These were measured with padding counted in the mean; the saved model leaves padding out.", ""]
    trained = data.get("encoder")
    if isinstance(trained, Mapping) and "saved_with" in trained:
        lines += [
            f"As the model that it was started from, this one has {_inline(trained['saved_with'])}. The scores were "
            "taken by cosines, which no norm changes, by classifiers of labels of one's own on embeddings of length 1, "
            "and by those of SentEval's tasks on embeddings before any norm.",
            "",
        ]
    if recipe.get("encoder.dtype") == "bf16" and recipe.get("encoder.adapter") != "lora":
        lines += [
            'The weights are stored in bf16, and compute in fp32, as they were scored; `model_kwargs={"dtype": '
            '"bfloat16"}` has them compute in bf16.',
            "",
        ]
    lines += [
        "## Training",
        "",
        f"{_origin(data, seed)} A projection head and the objective's own weights are not part of the model.",
        "",
        *_table(("key", "value"), ((key, _plain(value)) for key, value in {**recipe, **evaluation.flat()}.items())),
        "",
    ]
    if training:
        lines += [*_table(("measured", "value"), _flat(training)), ""]
    lines += ["## Data", "", *_table(("what", "value"), _flat(data))]
    return "\n".join(lines) + "\n"


def _origin(data: Mapping[str, object], seed: int) -> str:
    averaged = data.get("averaged")
    if not isinstance(averaged, Mapping):
        return f"Seed {seed}."
    return (
        f"The weights are the mean of {len(averaged['models'])} trainings under different seeds, mixed with those of "
        f"the encoder that these began with: {averaged['share']:.0%} of what training changed is in it."
    )


def _oldest(recipe: Mapping[str, Value]) -> str:
    """Return the first version of sentence-transformers that has all modules of the saved model."""
    mode = recipe.get("pooling.mode")
    return POOLINGS[str(mode)].since if mode in POOLINGS else Pooling.since


def write_card(folder: Path, text: str) -> None:
    """Write the card into a saved model's folder, in place of an existing one."""
    write_whole(folder / README, text)


def without_folders(value: str) -> str:
    """Return the text with only the last name of each absolute path. A card on the hub must not show the folders of the
    machine that wrote it."""
    return _PATH.sub(lambda path: Path(path[0]).name, value)


def _front_matter(encoder: str) -> list[str]:
    name = hub_base(encoder)
    base = [f"base_model: {quoted(name)}"] if name else []
    return [
        "---",
        "library_name: sentence-transformers",
        "pipeline_tag: sentence-similarity",
        "tags:",
        "- sentence-transformers",
        "- sentence-similarity",
        "- feature-extraction",
        *base,
        "---",
    ]


def hub_base(encoder: str) -> str | None:
    """Return the encoder's name without its revision; None if it is a folder or not of the form `owner/name`."""
    name = encoder.partition("@")[0]
    return name if "/" in name and is_id(name) and not expanded(encoder).exists() else None


def quoted(value: str) -> str:
    """Return the text as a string of YAML with printable characters only."""
    return json.dumps(one_line(value), ensure_ascii=False)  # a JSON string is also a string of YAML


def _score_row(task: str, numbers: Mapping[str, object]) -> tuple[str, str, str]:
    texts = [f"{name} {value:.2f}" for name, value in numbers.items() if isinstance(value, float) and name != "seconds"]
    examples = numbers.get("examples")
    return task, "" if examples is None else f"{examples}", ", ".join(texts) or f"none: {numbers.get('reason', '')}"


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted names and values. Lists are left out, because they may contain sentences."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list | tuple):
            yield f"{prefix}{name}", _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else str(value)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *(tuple(map(_inline, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _inline(value: object) -> str:
    """Return text that cannot end a table's cell or line and is not read as markup, without this machine's folders."""
    return _MARKS.sub(r"\\\g<0>", without_folders(one_line(value)))
