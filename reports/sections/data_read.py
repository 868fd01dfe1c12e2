"""A table of the data that trials read, for the section `what_was_run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.document import Block, DataTable
from reports.facts.results import Results
from reports.words.markdown import DASH, code, short_paths, text
from trainables.senteval.tasks import GROUPS

KINDS = {"corpus": "training corpus", "nli": "training pairs", "senteval": "SentEval"}
"""Names of the data that a record describes. The oldest records have `nli` in place of `corpus`."""
OWN_TASKS = "own tasks"
"""Name used instead of SentEval if all tasks are the user's own, so that SentEval's folder was not read."""
ELSEWHERE = {"premises"}
"""Entries of a data description that another section shows."""
PHRASES = {
    "layout": "laid out as {}",
    "fingerprint": "fingerprint {}",
    "shortest": "at least {} tokens a document",
    "read": "{} documents read",
    "too_short": "{} of them too short",
}
"""Phrases for entries of a data description. Any other entry is shown by its name, with spaces."""
CODE_ENTRIES = {"layout", "fingerprint"}
"""Entries of a data description whose values are names, shown as code."""


def data_table(results: Results) -> list[Block]:
    """Return a table of the data that trials read, a line for each content. Fingerprints tell contents apart."""
    lines = []
    for kind, name in KINDS.items():
        records = [record for record in results.records if record.data_read.get(kind)]
        contents: dict[object, list[dict[str, object]]] = {}
        for record in records:
            read = _mixture(record.data_read[kind])
            if kind == "senteval" and record.scores and not any(task in GROUPS["all"] for task in record.scores):
                name, read = OWN_TASKS, {key: value for key, value in read.items() if key != "source"}
            contents.setdefault((read.get("fingerprint"), read.get("mixture")), []).append(read)
        lines += [[name, words] for descriptions in contents.values() for words in _by_layout(descriptions)]
    return [DataTable(["Data", "What"], lines, left=2)] if lines else []


def _mixture(read: dict[str, Any]) -> dict[str, Any]:
    """Return a mixture of corpora as one entry with share, layout, source and fingerprint of each; others unchanged."""
    if read.get("layout") != "mix":
        return read
    corpora = [
        f"{100 * share:.1f} % {short_paths(part['source'])} as {part['layout']} ({part['fingerprint']})"
        for share, part in zip(read["shares"], read["parts"], strict=True)
    ]
    return {"layout": "mix", "fingerprint": read.get("fingerprint"), "mixture": "; ".join(corpora)}


def _by_layout(descriptions: Sequence[dict[str, object]]) -> list[str]:
    """Describe one content in a line. For several layouts, describe the common entries first, then each in a line."""
    layouts: dict[object, list[dict[str, object]]] = {}
    for description in descriptions:
        layouts.setdefault(description.get("layout"), []).append(description)
    if len(layouts) == 1:
        return [_in_words(descriptions)]
    common = {
        key: value
        for key, value in descriptions[0].items()
        if key not in ELSEWHERE and all(key in other and other[key] == value for other in descriptions)
    }
    rest = [
        [{key: value for key, value in description.items() if key not in common} for description in of_layout]
        for _, of_layout in sorted(layouts.items(), key=lambda item: str(item[0]))
    ]
    return [words for words in map(_in_words, [[common], *rest]) if words]


def _in_words(descriptions: Sequence[dict[str, object]]) -> str:
    """Return descriptions of one content as one line. Different numbers become a range; entries of 0 are left out."""
    phrases = []
    for key in dict.fromkeys(["layout", *(key for description in descriptions for key in description)]):
        values = [description[key] for description in descriptions if key in description]
        if key not in ELSEWHERE and any(value is False or value != 0 for value in values):
            phrases.append(_phrase(key, values))
    return ", ".join(phrases)


def _phrase(key: str, values: Sequence[object]) -> str:
    distinct = [value for number, value in enumerate(values) if value not in values[:number]]
    numbers = [value for value in distinct if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(distinct) > 1 and len(numbers) == len(distinct):
        shown = f"{_shown(min(numbers))} to {_shown(max(numbers))}"
    else:
        shown = " or ".join(map(code if key in CODE_ENTRIES else _shown, distinct))
    if key in PHRASES:
        return PHRASES[key].format(shown)
    words = text(key.replace("_", " "))
    return f"{shown} {words}" if len(numbers) == len(distinct) else f"{words}: {shown}"


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{text(key)}: {_shown(item)}" for key, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    return DASH if value is None else text(short_paths(str(value)))
