"""A user's request for a study: each option once, with its help, its check and its rules about other options.

The command line (`study/cli/options.py`), Python (`study/from_python.py`), `study.json` and the commands that reports
print are made of these fields. A field holds the value that was given; its default means that the option was left out.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from reports.ledger.option_values import (
    MAX_COUNT,
    FinalsSize,
    KeepModels,
    NumberRange,
    name_among,
    number_from_zero,
    parse_finals_size,
    parse_models,
    parse_number_range,
    parse_path,
    split_names,
    whole_number,
)
from reports.ledger.options import Rule, flag, option, options_of
from search_spaces.limits import bounds_study
from search_spaces.space import Scale, Search
from trainables.errors import UserError, choices, shown
from trainables.training.rungs import DEFAULT_RUNGS, RungPlan, parse_rungs

PROGRAM = ("python", "study/run.py")
FINALS = FinalsSize(1, 5)
"""The default size of finals."""
TURNED_OFF = ("finals", "scheduler")
"""Options whose value `none` switches the feature off."""
PATH_OPTIONS = ("recipe", "why", "train", "encoder", "dev", "test", "results")
"""Options that name files and folders. Their values may not be empty."""
TRIALS, OPEN_TRIALS = 20, 200
"""Number of recipes that Optuna explores by default, and at most if the time or the possible gain ends the search."""
RUN, OWN, SEARCH = "what to run", "your own data instead of a space", "the search"
DATA, HOW = "data", "where and how"
"""The groups of options in the help, also those above. A study that continues keeps options of the group `SEARCH`; a
command for single rows leaves them out."""

WITH_TRAIN = Rule(
    lambda request: not request.train, "{option} goes with --train; give your training data by --train FILE"
)
NOT_WITH_RECIPE = Rule(
    lambda request: bool(request.train and request.recipe),
    "--recipe has its encoder and what judges it; leave {option} out",
)
NOT_WITH_TRAIN = Rule(
    lambda request: bool(request.train),
    "--train makes a space of your own data, and {option} names another; leave one of them out",
)


def _with_optuna(what: str) -> Rule:
    return Rule(lambda request: request.strategy != "optuna", f"{{option}} is {what}; add --search optuna")


def _with_search(what: str) -> Rule:
    return Rule(lambda request: request.strategy == "paper", f"{{option}} {what}; add --search optuna or --search grid")


def _with_train(help: str, shown: str) -> Any:
    return option((), OWN, help, WITH_TRAIN, NOT_WITH_RECIPE, shown=shown, repeats="in a row")


@dataclass(frozen=True)
class Request:
    """A user's request for a study: a field for each option."""

    space: str = option("", RUN, "a space's name, or a file of your own: ./my_space.py", NOT_WITH_TRAIN)
    recipe: str | None = option(
        None,
        RUN,
        "train one recipe alone: what the answer of a results folder says to use (then without --space; on all of your "
        "data with --train); or a row of the space; or its base with the keys of a .toml or .json file",
        Rule(
            lambda request: request.strategy != "paper",
            "--recipe trains one recipe and --search looks for one; leave one of them out",
        ),
        shown="WHAT",
    )
    why: str | None = option(
        None,
        RUN,
        "no study, but what stands in the way of a gain in the results of one of --train, most likely first: looks at "
        "rows, test and encoder, and with --limit minutes=10 small trainings with one change each",
        Rule(
            lambda request: bool(request.space or request.train or request.recipe),
            "{option} looks into a study that has run; leave --space, --train and --recipe out",
        ),
        shown="RESULTS",
    )
    train: tuple[str, ...] = option(
        (),
        OWN,
        "your own training data (CSV, TSV, JSONL, Parquet, a hub id): pairs, triplets, NLI, scored pairs, labelled "
        "texts or sentences, told from the columns. They decide what is searched, instead of a space",
        Rule(
            lambda request: not (request.encoder or request.recipe),
            "--train needs an encoder to begin with; add --encoder with its folder or hub id",
        ),
        shown="FILE",
        repeats="in a row",
    )
    encoder: tuple[str, ...] = _with_train(
        "with --train: folder or hub id of the encoder; several are one more choice of the search", "MODEL"
    )
    dev: tuple[str, ...] = _with_train(
        "with --train: what to choose by, a file or a folder in BEIR's layout; may be several, PATH or NAME=PATH "
        "(default: a part of the training data is put aside)",
        "FILE",
    )
    test: tuple[str, ...] = _with_train("with --train: what to judge the answer by, likewise", "FILE")
    write_space: Path | None = option(
        None,
        OWN,
        "with --train: write the space as a Python file to keep and edit, and its data beside it; run nothing",
        WITH_TRAIN,
        NOT_WITH_RECIPE,
        Rule(lambda request: request.dry_run, "{option} writes a space and runs nothing; leave --dry-run out"),
        read=parse_path,
        shown="FILE",
    )
    max_rows: int | None = option(
        None,
        OWN,
        "with --train: read at most N of its rows (default 1,000,000); a note says if there are more",
        WITH_TRAIN,
        read=whole_number(1),
        shown="N",
    )
    drop_leaks: bool = flag(
        OWN,
        "with --train: leave out the training rows that hold an item of --dev or --test whole; the study counts them "
        "in any case",
        WITH_TRAIN,
    )
    list: bool = flag(RUN, "print the spaces and stop")
    keys: bool = flag(RUN, "print every key that --set can change, and stop")
    dry_run: bool = flag(RUN, "print trials, resources and an estimate; run nothing")
    scale: Scale | Literal["auto"] = option(
        "auto",
        RUN,
        "the paper's encoder, data and steps, or the built-in ones (default: paper where there is a GPU)",
        read=name_among(("auto", *get_args(Scale))),
        shown=f"{{{','.join(('auto', *get_args(Scale)))}}}",
    )
    seeds: NumberRange = option(
        NumberRange(1, 1),
        RUN,
        "seeds of every recipe (default 1); LEAST:MOST gives more than the least only where they can change which "
        "recipe is best, or whether a row is above the baseline. A race from one seed on loses the recipe that all "
        "seeds would choose in up to 21 % of studies, mostly in 2 to 10 %; from two seeds on in at most 11 %",
        read=parse_number_range,
        shown="N",
    )
    set: tuple[str, ...] = option((), RUN, "change a key of every recipe", shown="KEY=VALUE", repeats="yes")
    search: Search | None = option(
        None,
        SEARCH,
        "the paper's rows; or the rows and then the grid, or what Optuna asks for (default: paper, with --train "
        "optuna; a study that was searched goes on with its search, unless --only names rows)",
        read=name_among(get_args(Search)),
        shown=f"{{{','.join(get_args(Search))}}}",
    )
    trials: int | None = option(
        None,
        SEARCH,
        f"new recipes for Optuna (default {TRIALS}; with --limit minutes as many as it leaves time for, {OPEN_TRIALS} "
        "at most); each is run with the least seeds",
        _with_optuna("how many recipes Optuna explores"),
        read=whole_number(1, MAX_COUNT),
        shown="N",
    )
    sampler: str | None = option(
        None,
        SEARCH,
        "how Optuna chooses",
        _with_optuna("how Optuna chooses"),
        shown="NAME",
        registry="study.search.samplers:SAMPLERS",
    )
    scheduler: str | None = option(
        None,
        SEARCH,
        "stop explored trials early (never the rows) where their training pauses for scores (a rung)",
        _with_search("stops explored trials, never the paper's rows"),
        shown="NAME",
        registry="study.search.schedulers:SCHEDULERS",
    )
    rungs: RungPlan | None = option(
        None,
        SEARCH,
        "where: 8 (parts of equal size), share:0.25,0.5, steps:100,300, epochs:0.5,1 or tokens:1e6,3e6 (default "
        f"{DEFAULT_RUNGS})",
        Rule(
            lambda request: request.scheduler in (None, "none"),
            "{option} is where a scheduler may stop explored trials; add --scheduler asha",
        ),
        read=lambda option, text: parse_rungs(text),
        shown="AMOUNTS",
    )
    finals: FinalsSize | Literal["none"] | None = option(
        None,
        SEARCH,
        "how a search ends: the best K recipes run again under S new random seeds, beside the base settings and the "
        f"original encoder (default {FINALS}); fewer of both where these would take more than half of a --limit; "
        "none leaves that out",
        _with_search("is how a search ends"),
        read=parse_finals_size,
        shown="KxS",
    )
    learning_curve: bool = flag(
        SEARCH,
        "would more data help? After the finals, what the answer says to use is trained on 1/8, 1/4 and 1/2 of the "
        "data, too, under the same seeds; a study that is done goes on with it",
        Rule(
            lambda request: request.finals_size is None,
            "{option} trains what the finals of a search say to use on parts of the data; add --search optuna or "
            "--search grid, and leave --finals none out",
        ),
    )
    soup: Literal["seeds", "none"] = option(
        "seeds",
        SEARCH,
        "after the finals the models of the recipe to use are averaged over their seeds, and mixed with the encoder as "
        "it came; the answer says which model to ship; none leaves that out",
        read=name_among(("seeds", "none")),
        shown="{seeds,none}",
    )
    goals: str | None = option(
        None,
        RUN,
        "what the search looks for and is judged by, instead of the space's own goals: a task (mytask, or "
        "mytask.ndcg@10), sts, transfer, selection (their mean), seconds, peak_memory_mb, encode_ms, embedding_dim; "
        "several are a Pareto front, or with weights one mean: mytask*2,other",
        shown="NAME,...",
    )
    limit: tuple[str, ...] = option(
        (),
        RUN,
        "minutes, gpu_hours or worker_hours of the study, its finals included, beyond which no trial begins (of "
        "minutes none runs on, either); seconds or peak_memory_mb of each trial, above which it cannot be the best; "
        "may be repeated",
        shown="NAME=NUMBER",
        repeats="yes",
    )
    mteb: tuple[str, ...] = option(
        (),
        RUN,
        "at the end the package mteb scores the kept models of rows and finalists, and the original encoder, on its "
        "own tasks (STS12,NFCorpus) or a benchmark ('MTEB(eng, v2)'), beyond any limit; may be repeated",
        Rule(
            lambda request: request.keep_models == "none",
            "{option} scores the models that are kept; leave --keep-models none out",
        ),
        shown="NAME,...",
        repeats="yes",
        split=split_names,
    )
    plugin: tuple[Path, ...] = option(
        (),
        RUN,
        "run this Python file first: it adds objectives, tasks and the like; may be repeated",
        read=parse_path,
        shown="FILE",
        repeats="yes",
    )
    nli: str | None = option(
        None, DATA, "hub id, folder or files (JSONL, CSV, Parquet) of NLI pairs", NOT_WITH_TRAIN, shown="PATH"
    )
    columns: str | None = option(
        None, DATA, "its columns: premise=text_a,hypothesis=text_b,label=y", shown="OURS=YOURS,..."
    )
    labels: str | None = option(None, DATA, "its labels: entailment=yes,neutral=maybe,...", shown="OURS=YOURS,...")
    senteval: str | None = option(None, DATA, "folder in SentEval's layout (it holds downstream/)", shown="DIR")
    documents: str | None = option(None, DATA, "hub id, folder, text or JSONL file of documents", shown="PATH")
    evaluate: tuple[str, ...] = option(
        (),
        DATA,
        "folder or hub id of the model that a row evaluates or starts from; may be repeated",
        shown="ROW=MODEL",
        repeats="yes",
    )
    word_vectors: str | None = option(None, DATA, "GloVe text or .npy file, for rows of averaged vectors", shown="FILE")
    results: str | None = option(
        None,
        HOW,
        "a folder, or a URL such as s3://bucket/folder (default: the folder results/SPACE-SCALE)",
        shown="PLACE",
    )
    keep_models: KeepModels = option(
        "rows",
        HOW,
        "trained models that are kept: of all trials, of none, or of the N best by the goals (default: rows, of each "
        "row and each recipe in the finals that of the best seed)",
        read=parse_models,
        shown="N",
    )
    workers: NumberRange = option(
        NumberRange(1, 1),
        HOW,
        "Ray Train workers per trial (default 1); MIN:MAX lets a trial shrink and grow with the cluster",
        read=parse_number_range,
        shown="N",
    )
    gpus_per_worker: float | None = option(
        None,
        HOW,
        "default: 1 where the cluster has GPUs, or can grow them and --scale paper is asked for",
        read=number_from_zero,
        shown="X",
    )
    cpus_per_worker: int | None = option(
        None, HOW, "default: a fair share of the node's cores, at most 8", read=whole_number(1, MAX_COUNT), shown="N"
    )
    concurrent: int | None = option(
        None,
        HOW,
        "trials at once (default: all that fit, once the cluster has grown)",
        read=whole_number(1, MAX_COUNT),
        shown="N",
    )
    only: tuple[str, ...] = option(
        (), RUN, "run only this row, or these ('*-SCL'); may be repeated", shown="ROW", repeats="yes"
    )

    @property
    def averages(self) -> bool:
        """Whether the weights of models are averaged after the finals. All models must be kept until then."""
        return self.soup == "seeds" and self.keep_models in ("rows", "all")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Request:
        """Return the request with these option values, given as text, numbers, bools or lists. Raise `UserError` for
        unknown names and malformed values."""
        unknown = next((name for name in values if name not in OPTIONS), None)
        if unknown is not None:
            raise UserError(f"there is no option {shown(unknown)}; the options are {choices(OPTIONS)}")
        return cls(**{name: OPTIONS[name].value_of(value) for name, value in values.items()})

    def check(self) -> None:
        """Raise `UserError` for options that contradict each other, and if no option states what to run."""
        for name in PATH_OPTIONS:
            value = getattr(self, name)
            if value == "" or (isinstance(value, tuple) and "" in value):
                raise UserError(f"{OPTIONS[name].word} is empty")
        for name in self.differing:
            if (rule := self.broken_rule(name)) is not None:
                raise UserError(rule.sentence.format(option=OPTIONS[name].word))
        if not (self.space or self.train or self.recipe or self.why or self.list or self.keys):
            raise UserError(
                "--space is missing; `--list` prints the spaces, and a file of your own is one too: ./my_space.py; or "
                "give your own data by --train, and an encoder by --encoder"
            )

    def broken_rule(self, name: str) -> Rule | None:
        """Return a rule of this option that the request breaks, if any. None if the option is left out or is `none`."""
        value = self.differing.get(name)
        if value is None or (name in TURNED_OFF and value == "none"):
            return None
        return next((rule for rule in OPTIONS[name].rules if rule.broken(self)), None)

    @property
    def differing(self) -> dict[str, Any]:
        """The option values that differ from their defaults, by option."""
        values = ((name, getattr(self, name)) for name in OPTIONS)
        return {name: value for name, value in values if value != OPTIONS[name].default}

    @property
    def values(self) -> dict[str, Any]:
        """`differing` in JSON types, as the method `of` reads it."""
        return {name: OPTIONS[name].json(value) for name, value in self.differing.items()}

    @property
    def arguments(self) -> Sequence[str]:
        """The words of the command line, without the program."""
        return [word for name, value in self.differing.items() for word in OPTIONS[name].arguments(value)]

    @property
    def command(self) -> str:
        """The whole command line, quoted for a shell."""
        return shlex.join([*PROGRAM, *self.arguments])

    @property
    def strategy(self) -> Search:
        """The kind of search. By default Optuna for own data, otherwise only the paper's rows."""
        return self.search or ("optuna" if self.of_own_data else "paper")

    @property
    def of_own_data(self) -> bool:
        """Whether the study's space is made of the user's training data."""
        return bool(self.train) and not self.recipe

    @property
    def explored(self) -> int:
        """Number of recipes that Optuna explores; under a limit on the study, the largest number."""
        if self.strategy != "optuna":
            return 0
        return self.trials or (OPEN_TRIALS if bounds_study(self.limit) else TRIALS)

    @property
    def finals_size(self) -> FinalsSize | None:
        """Size of the finals; None if there are none."""
        size = self.finals or FINALS
        return None if size == "none" or self.strategy == "paper" else size

    def without_search(self) -> Request:
        """Return the request without the options of the search, for a command that runs rows alone."""
        return dataclasses.replace(self, **_defaults(SEARCH))

    def of_space(self, space: str) -> Request:
        """Return the request for the space that `--write-space` made of the user's data."""
        made = {**_defaults(OWN), "columns": None, "labels": None, "senteval": None}
        return dataclasses.replace(self, **made, space=space, search=self.strategy)


OPTIONS = options_of(Request)
"""The options of `Request` by field name, in the order of definition."""


def merge(before: Request, now: Request) -> Request:
    """Return the request of a study that continues: `now`, with the search options that it leaves out taken from
    `before`.

    Options that would break a rule are not taken. A search keeps at least its seeds, as it chose recipes with them. A
    command for single rows without a search stays unchanged. Decided finals: `study.results_folder.check.continued`.
    """
    if now.only and now.strategy == "paper":
        return now
    if now.strategy == "paper" != before.strategy:
        now = dataclasses.replace(now, search=before.strategy)
    merged = now
    if before.strategy != "paper":
        merged = dataclasses.replace(now, seeds=NumberRange(*map(max, before.seeds, now.seeds)))
    for name in _defaults(SEARCH):
        if name in now.differing or (name == "search" and before.strategy == "paper"):
            continue
        tried = dataclasses.replace(merged, **{name: getattr(before, name)})
        if not any(tried.broken_rule(other) and not merged.broken_rule(other) for other in _defaults(SEARCH)):
            merged = tried
    return merged


def _defaults(group: str) -> dict[str, Any]:
    return {name: item.default for name, item in OPTIONS.items() if item.group == group}
