"""`--train`: a study of a person's own data. The data are prepared, and a space file is written beside them. The space
then runs as any person's space does: all later steps use only the space and its tasks.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import re
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reports.ledger import STUDY, StudyInfo
from reports.ledger.folders import OWN_DATA
from reports.ledger.location import is_url
from reports.ledger.request import Request
from reports.words.markdown import count
from search_spaces.goals import GOALS
from search_spaces.limits import parse_limits
from search_spaces.own_data import (
    DEEP,
    GENERAL_TASK,
    MOST_COUNTED,
    MOST_LABELLED,
    MOST_LETTERS,
    OWN_GOAL,
    OwnEncoder,
    OwnSpace,
    contents_of,
)
from search_spaces.own_file import space_text
from study.cli.terminal import say_lines
from study.engine.cluster import lasting
from study.one_recipe import read_recipe, with_notes
from study.own.judge_files import RENAMED_SUFFIX, fetch_data_set, rename_columns
from study.own.leaks import check_leaks, leaking_rows
from study.own.words import LEAKS, held_back, leak_notes, of_data, of_labels, of_lengths, of_measures, of_searches
from study.rows import absolute
from study.subject import Subject, named_space, plugin
from study.trial import SourceFile
from trainables.corpora.own.columns import named_roles
from trainables.corpora.own.held_out import PreparedData, prepare
from trainables.corpora.own.split import DEV, TEST
from trainables.corpora.own.training_files import TrainingFiles, training_files
from trainables.corpora.own_rows import CONTENTS
from trainables.encoders.availability import known_layers, known_width
from trainables.encoders.check import check_encoder
from trainables.encoders.module_files import own_pooling
from trainables.encoders.own_modules import fitting_poolings, own_settings
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, parse_assignment
from trainables.files import expanded, make_folder, write_whole
from trainables.fingerprints import fingerprint
from trainables.plugins import withdraw_spaces
from trainables.recipe import SCENES, SCENES_ENCODER, EncoderConfig, Value
from trainables.senteval.own_tasks import converter_to, name_and_path, own_tasks, with_training_file
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, Task, task_names
from trainables.trial.data_requests import senteval_folder

SPACE, INPUTS, GENERAL = "space.py", "given.json", f"{GENERAL_TASK}.tsv"
"""Files in the folder of prepared data: the space, digests of the inputs, and the pairs of the general check."""
_PLAIN = ("model", "checkpoint", "best", "final", "encoder")
"""Folder names that do not identify a model. The folder above may identify it."""
_NAME = 60
"""Largest number of letters in a study's name."""
NO_TF_IDF = "TF-IDF is not scored beside the models: too many texts, letters or labels to test"

_put: set[Path] = set()
"""Folders of prepared data that this process made. It may replace these, but no others, until they have a study."""


class EvaluationFiles(NamedTuple):
    """The files given by `--dev` and `--test`."""

    dev: Sequence[str]
    test: Sequence[str]


def own_space(request: Request) -> Subject:
    """Make the space of `--train`; with `--recipe`, the space of that recipe on all rows of `--train`. Print what the
    files contain.

    `UserError` for data that cannot be used, and if the results hold a study of other data.
    """
    if request.recipe is not None:
        return _of_recipe(request)
    file, text, results = _made(request)
    write_whole(file, text)
    # `--columns` and `--labels` are of the person's files, not of the prepared ones.
    return dataclasses.replace(named_space(str(file)), results=results, options={"columns": None, "labels": None})


def write_space(request: Request) -> None:
    """Write the space of `--train` to the file that `--write-space` names, and run nothing."""
    assert request.write_space is not None
    begin(request)
    file, text, _ = _made(request)
    write_whole(request.write_space, text)
    print(f"wrote {request.write_space}, and its data in {file.parent}; run it by", flush=True)
    path = request.write_space if request.write_space.is_absolute() else f"./{request.write_space}"
    print(f"  {request.of_space(str(path)).command}", flush=True)


def begin(request: Request) -> tuple[tuple[SourceFile, ...], dict[str, float]]:
    """Run the command's plugins; return the plugins and the command's limits. Names that an earlier study in a notebook
    added are withdrawn. `UserError` for an invalid limit, before data are read, which may take minutes."""
    if request.train:
        withdraw_spaces()
    return tuple(map(plugin, request.plugin)), parse_limits(request.limit)


def _made(request: Request) -> tuple[Path, str, str]:
    """Prepare the data; return the file and the text of the space, and the results folder."""
    fixed = dict(map(parse_assignment, request.set))
    encoders = _encoders(request.encoder, str(fixed.get("encoder.kind", "transformer")), fixed.get("encoder.layers"))
    source = training_files(request.train, request.columns, request.labels, request.max_rows)
    file = Path(request.train[0].rstrip("/")).name.partition(".")[0]
    name = "-".join([_word(file), *(encoder.label for encoder in encoders)])[:_NAME].strip("-.")
    results = request.results or f"results/{name}"
    folder = _folder(results) if request.write_space is None else _folder_beside(request.write_space)
    unfinished = _unfinished(folder)
    roles = named_roles(request.columns)
    dev, test = (
        [
            rename_columns(fetch_data_set(text, part, unfinished), part, unfinished, roles)
            for text in getattr(request, part)
        ]
        for part in EvaluationFiles._fields
    )
    files = EvaluationFiles(dev, test)
    made, leaked = _prepare(source, files, unfinished, request.drop_leaks)
    begun = request.write_space is None and (folder.parent / STUDY).is_file()
    _write_general(request.senteval, encoders, made.train.parent / GENERAL)
    stays = request.write_space is not None
    prepared = _moved(made, folder, [*request.train, *dev, *test], begun, stays)
    files = EvaluationFiles(*([text.replace(str(unfinished), str(folder)) for text in texts] for texts in files))
    say_lines(of_data(source, prepared, leaked))
    if request.dry_run and "encoder.max_length" not in fixed:
        say_lines(of_lengths(encoders))
    if begun:  # even if its files have other names now
        name = StudyInfo.load(folder.parent).space
    text = _space(name, source, encoders, prepared, files, folder, leaked)
    # The study in the results may still turn out to be a different one: its space stays.
    return (made.train.parent if begun else folder) / SPACE, text, results


def _of_recipe(request: Request) -> Subject:
    """Return the space of `--recipe` on all rows of `--train`. It is judged by the tasks of the recipe's own study."""
    space = read_recipe(request).space
    source = training_files(request.train, request.columns, request.labels, request.max_rows)
    readable = contents_of(space.base.corpus.layout)
    if readable and source.content not in readable:
        trains_on = "pairs, triplets or NLI" if "pairs" in readable else CONTENTS[readable[0]].words
        raise UserError(
            f"--recipe {request.recipe} trains on {trains_on}, and {source.name} holds "
            f"{CONTENTS[source.content].words}; give --train a file of the former, or name its columns by --columns"
        )
    results = request.results or f"results/{space.name}"
    folder = _folder(results)
    tasks = [TASKS[name] for name in task_names(space.evaluation.tasks)]
    own = [task for task in tasks if task.of_own_data]
    flat = space.base.flat()
    before = Path(str(flat.get("corpus.nli"))).parent
    # Rows that the earlier study put aside are trained on.
    held_out_folder = before if (before / INPUTS).is_file() else None
    files = EvaluationFiles(request.dev, request.test)
    made, leaked = _prepare(source, files, _unfinished(folder), request.drop_leaks, own, held_out_folder)
    begun = (folder.parent / STUDY).is_file()
    prepared = _moved(made, folder, [*request.train, *files.dev, *files.test], begun)
    say_lines(of_data(source, prepared, leaked))
    # The recipe's columns and labels, if its layout has such keys, are of another file.
    columns, labels = ("none" if key in flat else None for key in ("corpus.columns", "corpus.labels"))
    options: dict[str, Any] = {"nli": str(prepared.train), "columns": columns, "labels": labels}
    subject = read_recipe(dataclasses.replace(request, **options))
    others = [note for note in subject.space.notes if not note.startswith(LEAKS)]  # the data have other leaks now
    subject = with_notes(subject, [*others, *leak_notes(leaked)])
    return dataclasses.replace(subject, results=results, options=options)


def _folder_beside(space: Path) -> Path:
    """Return the folder for a space file's prepared data; `UserError` if the file or the folder exists already."""
    path = space.absolute()
    folder = path.with_name(f"{path.stem}_data")
    existing = next((path for path in (path, folder) if path.exists()), None)
    if existing is not None:
        raise UserError(f"--write-space {space}: {existing} exists; remove it, or give another name")
    return folder


def _folder(results: str) -> Path:
    """Return the folder of a study's prepared data; `UserError` for results at a URL."""
    if is_url(results):
        raise UserError(
            f"--train keeps the prepared data in the results, and {results} is no folder; write the space by "
            "--write-space my_space.py, and run that with --results"
        )
    return lasting(expanded(results)) / OWN_DATA


def _unfinished(folder: Path) -> Path:
    """Make an empty folder beside `folder`, to be renamed to it. At the end of the process the new folder is removed,
    and so are empty folders above that were made for it."""
    for parent in reversed([above for above in folder.parents if not above.is_dir()]):
        make_folder(parent)
        atexit.register(_remove_empty, parent)
    made = folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:8]}.tmp")
    make_folder(made)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _moved(made: PreparedData, folder: Path, inputs: Sequence[str], begun: bool, stays: bool = False) -> PreparedData:
    """Move prepared data to their folder. Data there are kept if a study has begun on them, or if they are the same.
    `UserError` if a study there has other data, or if the folder holds the `inputs` or anything else. A folder that
    this process made is removed at its end, unless it `stays` or a study has begun."""
    if begun:
        _check_inputs(made.train.parent, folder)
    elif not (folder / INPUTS).is_file() or (folder / INPUTS).read_bytes() != (made.train.parent / INPUTS).read_bytes():
        paths = [Path(name_and_path(text)[1]).resolve() for text in inputs]
        inside = any(path.is_relative_to(folder.resolve()) for path in paths)
        if folder.exists() and (inside or folder not in _put):
            raise UserError(
                f"the prepared data go to {folder}, which holds something else; remove it, or give another folder with "
                "--results"
            )
        if folder.exists():
            shutil.rmtree(folder)
        made.train.parent.rename(folder)
        if not stays and folder not in _put:
            _put.add(folder)
            atexit.register(_remove_unused, folder)
    held_out = {part: folder / path.name for part, path in made.held_out.items()}
    return dataclasses.replace(made, train=folder / made.train.name, held_out=held_out)


def _remove_unused(folder: Path) -> None:
    if not (folder.parent / STUDY).is_file():
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(
    source: TrainingFiles,
    files: EvaluationFiles,
    folder: Path,
    drop_leaks: bool,
    judged_by: Sequence[Task] | None = None,
    held_out_folder: Path | None = None,
) -> tuple[PreparedData, list[str]]:
    """Prepare the data; also return messages on leaks. If files for dev or test are missing, rows are put aside for
    them if the data allow it; not if `judged_by` gives the tasks, of which items in `held_out_folder` are trained
    on."""
    parts = [part for part, texts in zip((DEV, TEST), files, strict=True) if not texts]
    if judged_by is not None:
        parts = []
    elif source.content == "texts" and len(parts) == 1:  # else one form would choose and another judge
        parts = [] if files.dev else [DEV]
    # Before the split, so that the part put aside for choosing contains no tested items either.
    try:
        judges = own_tasks(*files) if judged_by is None else judged_by
        holding = leaking_rows(source, judges, held_out_folder) if drop_leaks else frozenset()
        prepared = prepare(source, folder, parts, holding, converter_to(judges))
        tasks = _tasks(prepared, files) if judged_by is None else judged_by
        leaked: list[str] = []
        if tasks:
            prepared, leaked = check_leaks(prepared, tasks, drop_leaks, source.name, held_out_folder)
    except UserError as error:  # name the file that the person gave, not the file made from it
        inside, part = re.escape(f"{folder}/"), "|".join(files._fields)
        # Without the line number, which differs in the given file. In `x.jsonl.jsonl, line 3` the match ends at the
        # first `.jsonl`, and the rest is right.
        judge = re.sub(rf"{inside}({part})/(.+?){re.escape(RENAMED_SUFFIX)}(, line \d+)?", r"--\1 \2", str(error))
        made = re.compile(inside + r"[\w./]*(, line \d+|:\d+)?")
        sentence, replaced = made.subn(f"what is put aside of {source.name}", judge)
        raise UserError(f"{sentence}; give --dev and --test" if replaced else sentence) from None
    if holding:
        of = " or ".join(f"--{part}" for part, texts in files._asdict().items() if texts)
        held = f"held an item{f' of {of}' * bool(of)}, exactly or nearly"
        leaked = [f"{count(len(holding), 'row')} of {source.name} {held}: left out", *leaked]
    digits: dict[str, list[str]] = {
        "train": [fingerprint(path) for path in (prepared.train, *prepared.held_out.values())],
        **{part: [_digits(name_and_path(text)[1]) for text in texts] for part, texts in files._asdict().items()},
    }
    write_whole(folder / INPUTS, json.dumps(digits, indent=1))
    return prepared, leaked


def _tasks(prepared: PreparedData, files: EvaluationFiles) -> tuple[Task, ...]:
    held = ([str(prepared.held_out[part])] if part in prepared.held_out else [] for part in (DEV, TEST))
    tasks = own_tasks(*([*texts, *more] for texts, more in zip(files, held, strict=True)))
    if prepared.content == "labelled":
        tasks = tuple(with_training_file(task, prepared.train, prepared.census.labels) for task in tasks)
    taken = {*GOALS, OWN_GOAL}  # `seconds` is a goal, so no task may have that name
    return tuple(dataclasses.replace(task, name=f"own_{task.name}") if task.name in taken else task for task in tasks)


def _write_general(senteval: str | None, encoders: Sequence[OwnEncoder], path: Path) -> None:
    """Write the test pairs of STSBenchmark as a table: those of SentEval's data if they exist; otherwise, for the
    built-in encoder, the built-in ones; otherwise nothing."""
    built_in = all(encoder.name == SCENES_ENCODER for encoder in encoders)
    locations = [senteval or EvaluationConfig().senteval, *([SCENES] if built_in else [])]
    files = (senteval_folder(location) / "downstream/STS/STSBenchmark/sts-test.csv" for location in locations)
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return
    rows = [line.split("\t")[4:7] for line in file.read_text(encoding="utf-8").splitlines() if line]
    lines = ["score\tsentence1\tsentence2", *map("\t".join, (row for row in rows if len(row) == 3))]
    write_whole(path, "\n".join(lines) + "\n")


def _digits(location: str) -> str:
    path = Path(location)
    return fingerprint(path) if path.exists() else location


def _check_inputs(made: Path, folder: Path) -> None:
    """Raise `UserError` if the study in the results was given other data."""
    now = json.loads((made / INPUTS).read_text(encoding="utf-8"))
    try:
        before = json.loads((folder / INPUTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"{folder.parent} holds another study, not one of --train; give this one its own folder with --results"
        ) from None
    differing = [part for part in now if before.get(part) != now[part]]
    if differing:
        raise UserError(
            f"{folder.parent} holds a study of other data for --{differing[0]}, or of a version that puts parts aside "
            "otherwise; go on with it by its own command and version, or give this one its own folder with --results"
        )


def _general(folder: Path, tasks: Sequence[Task]) -> Task | None:
    """Return the task of the general check if its file is among the prepared data; a continued study keeps its file."""
    path = folder / GENERAL
    if not path.is_file() or any(task.name == GENERAL_TASK for task in tasks):
        return None
    (task,) = own_tasks([], [f"{GENERAL_TASK}={path}"])
    return task


def _space(
    name: str,
    source: TrainingFiles,
    encoders: Sequence[OwnEncoder],
    prepared: PreparedData,
    files: EvaluationFiles,
    folder: Path,
    leaked: Sequence[str],
) -> str:
    tasks = _tasks(prepared, files)
    if not any(task.development for task in tasks):
        raise UserError(f"--dev {' '.join(files.dev)} gives no number to choose by; give another")
    general, census, fast = _general(folder, tasks), prepared.census, _tf_idf_is_quick(tasks)
    if general is not None:
        print(f"{general.name} is scored, too: a check that general sentences do not get worse; no search looks at it")
    unscored = [f"{task.name}: {note}" for task in tasks for note in kept_task(task, Path()).left_out]
    doubts = [
        *unscored,
        *of_searches(tasks, folder),
        *of_measures(tasks),
        *of_labels(tasks),
        *([] if fast else [NO_TF_IDF]),
    ]
    say_lines(doubts)
    title = f"{', '.join(encoder.label for encoder in encoders)} trained on {Path(source.name).name}"
    return space_text(
        OwnSpace(
            name=name,
            title=title,
            folder=str(folder),
            train=str(prepared.train),
            content=source.content,
            units=census.units,
            most_positives=census.most_positives,
            most_negatives=census.most_negatives,
            taught=census.taught > 0,
            encoders=tuple(encoders),
            tasks=tasks,
            general=general,
            sources=tuple(census.sources),
            notes=(*held_back(prepared), *leak_notes(leaked), *doubts),
            tf_idf=fast,
        )
    )


def _tf_idf_is_quick(tasks: Sequence[Task]) -> bool:
    """Whether TF-IDF scores of these tasks take at most about twenty seconds: counting letters, predicting labels."""
    tested = [kept_task(task, Path()) for task in tasks]
    lengths = [len(text) for data in tested for text in data.sentences()]
    labels = max(data.classes for data in tested)
    return len(lengths) <= MOST_COUNTED and sum(lengths) <= MOST_LETTERS and len(lengths) * labels <= MOST_LABELLED


def _encoders(names: Sequence[str], kind: str, layers: Value) -> list[OwnEncoder]:
    """Return the encoders, each with a different label. `layers`: the number of layers that train, if it is set.
    `UserError` for an encoder that does not exist, or is given twice."""
    encoders: list[OwnEncoder] = []
    for text in names:
        name = absolute(text)
        config = EncoderConfig(kind, name)
        check_encoder(config)
        if any(name == other.name for other in encoders):
            raise UserError(f"--encoder {text} is given twice")
        label = _label(name)
        same = sum(other.label.rpartition("~")[0] == label or other.label == label for other in encoders)
        settings = own_settings(name)
        # A pooling other than a finished model's own loses score that only much training recovers.
        own = own_pooling(name)
        others = () if own else fitting_poolings(name)
        poolings = tuple(dict.fromkeys((str(settings["pooling.mode"]), *others)))
        deep = layers if isinstance(layers, int) else known_layers(name)
        finished = own is not None and deep is not None and deep >= DEEP
        label = f"{label}~{same + 1}" if same else label
        encoders.append(OwnEncoder(label, settings, poolings, known_width(config), finished))
    return encoders


def _label(name: str) -> str:
    """Return the label of a hub id or a folder, such as `all-MiniLM-L6-v2`."""
    parts = [part for part in name.split("/") if part]
    telling = next((part for part in reversed(parts) if part.lower() not in _PLAIN), parts[-1])
    return _word(telling)


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.") or "mine"
