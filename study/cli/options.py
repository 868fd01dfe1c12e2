"""The command line of `study/run.py`, and nothing else. It imports nothing heavy, so `--help` answers at once."""

from __future__ import annotations

import argparse
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, cast, get_args

from search_spaces.limits import bounds_study
from search_spaces.space import Scale, Search
from study.search.samplers import DEFAULT_SAMPLER, SAMPLERS
from study.search.schedulers import SCHEDULERS
from trainables.corpora.own_data import MOST_ROWS
from trainables.errors import UserError, checked_arguments, shown
from trainables.files import expanded
from trainables.registry import Registry
from trainables.training.rungs import DEFAULT, RungPlan, parse_rungs

KeepModels = int | Literal["rows", "all", "none"]
"""Those of the rows' best seeds, of all trials, of none, or of so many best trials."""

PACKAGE = "sentence-embedding-studies"
MOST = 100_000
"""Seeds, workers and trials that a command line may ask for; a slip of the finger has more."""
TRIALS, OPEN_TRIALS = 20, 200
"""Recipes that Optuna explores by default, and at most where the time, or what may still be gained, ends it."""
FINALS, MOST_FINALS = "1x5", 100
"""Finalists, and seeds of each: by default, and at most."""

_COMMA = re.compile(r",(?![^(]*\))")
"""Between names; that within `MTEB(eng, v2)` is part of one."""

EXAMPLES = """examples:
  python study/run.py --train pairs.csv --encoder sentence-transformers/all-MiniLM-L6-v2 --limit minutes=60
  python study/run.py --train triplets.jsonl --encoder DIR --dev queries_dev/ --test queries_test/
  python study/run.py --list                                        the spaces
  python study/run.py --keys                                        what --set can change
  python study/run.py --space scl_ablation                          the paper's rows, at the scale that fits here
  python study/run.py --space scl_ablation --search optuna --goals sts,seconds --limit gpu_hours=20
  python study/run.py --space scl_ablation --search optuna --trials 50 --seeds 1:10
  python study/run.py --space scl_lambda --scale laptop --dry-run
  python study/run.py --space clsr_main --evaluate 'SBERT-base=sentence-transformers/bert-base-nli-mean-tokens'
  python study/run.py --recipe results/mine --train all_my_pairs.csv   what its answer says to use, on all your data
  python study/run.py --space ./my_space.py --nli mine.csv --columns premise=text_a,hypothesis=text_b,label=y
  python study/run.py --space clsr_batch_size --plugin my_objective.py --set objective.name=alignment
  ray job submit --working-dir . -- python study/run.py --space scl_ablation

Running the same command again continues: finished trials are skipped, unfinished ones resume, and a larger
--trials or --seeds extends the study.
"""


@dataclass(frozen=True)
class Request:
    """What a person asked for."""

    arguments: tuple[str, ...]
    """As it was typed."""
    space: str
    """A name or a file; empty where `list` or `keys` is asked for, or the recipe of other results."""
    train: tuple[str, ...]
    """A person's own training data, of which a space is made."""
    encoder: tuple[str, ...]
    """With these to begin with."""
    dev: tuple[str, ...]
    """What the search goes by; empty: a part of the training data."""
    test: tuple[str, ...]
    """What judges its answer; empty: a part of the training data."""
    write_space: Path | None
    """Where the space is written instead of being run."""
    max_rows: int
    """Of the training data that are read."""
    drop_leaks: bool
    """Whether training rows that hold an item of dev or test whole are left out."""
    recipe: str | None
    """Results with an answer; with a space a row's name, or a file of keys."""
    scale: Scale | Literal["auto"]
    search: Search
    trials: int
    """Recipes that Optuna is asked for, at most under a limit."""
    seeds: int
    """The least number of every recipe."""
    most_seeds: int
    """The most; as `seeds`, unless recipes race."""
    results: str | None
    """A folder or a URL."""
    keep_models: KeepModels
    workers: int
    """The least that a trial runs with."""
    most_workers: int
    """The most; as `workers`, unless the number is elastic."""
    gpus_per_worker: float | None
    cpus_per_worker: int | None
    concurrent: int | None
    sampler: str | None
    """None: the one of the study's journal, or the default."""
    scheduler: str
    rungs: RungPlan
    goals: str | None
    finals: tuple[int, int] | None
    """How many recipes, and fresh seeds of each; None where the search ends without finals."""
    finals_by: Literal["default", "command", "study"]
    """Who says so. Those of a study whose finalists are known keep their size; others are smaller where a limit has no
    room for them."""
    learning_curve: bool
    """Whether the finals end with the recipe to use on parts of its data."""
    limit: tuple[str, ...]
    mteb: tuple[str, ...]
    """Tasks and benchmarks of the package `mteb`, on which the kept models are scored at the end."""
    nli: str | None
    columns: str | None
    labels: str | None
    senteval: str | None
    documents: str | None
    word_vectors: str | None
    evaluate: tuple[str, ...]
    set: tuple[str, ...]
    only: tuple[str, ...]
    plugins: tuple[Path, ...]
    list: bool
    keys: bool
    dry_run: bool


def parse(arguments: Sequence[str] | None = None) -> Request:
    """Read the command line; a mistake ends in one sentence and exit code 2. Without arguments it prints the help."""
    arguments = checked_arguments(arguments)
    parser = argparse.ArgumentParser(
        prog="study/run.py",
        description="Run, continue or extend a hyperparameter study, and write its report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to run")
    what.add_argument("--space", default="", help="a space's name, or a file of your own: ./my_space.py")
    what.add_argument(
        "--recipe",
        metavar="WHAT",
        help="train one recipe alone: what the answer of a results folder says to use (then without --space; on all "
        "of your data with --train); or a row of the space; or its base with the keys of a .toml or .json file",
    )
    what.add_argument(
        "--train",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="your own training data (CSV, TSV, JSONL, Parquet, a hub id): pairs, triplets, NLI, scored pairs, "
        "labelled texts or sentences, told from the columns. They decide what is searched, instead of a space",
    )
    what.add_argument(
        "--encoder",
        nargs="+",
        action="extend",
        default=[],
        metavar="MODEL",
        help="with --train: folder or hub id of the encoder; several are one more choice of the search",
    )
    what.add_argument(
        "--dev",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="with --train: what to choose by, a file or a folder in BEIR's "
        "layout; may be several, PATH or NAME=PATH (default: a part of the training data is put aside)",
    )
    what.add_argument(
        "--test",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="with --train: what to judge the answer by, likewise",
    )
    what.add_argument(
        "--write-space",
        type=expanded,
        metavar="FILE",
        help="with --train: write the space as a Python file to keep and edit, and its data beside it; run nothing",
    )
    what.add_argument(
        "--max-rows",
        type=int,
        metavar="N",
        help=f"with --train: read at most N of its rows (default {MOST_ROWS:,}); a note says if there are more",
    )
    what.add_argument(
        "--drop-leaks",
        action="store_true",
        help="with --train: leave out the training rows that hold an item of --dev or --test whole; the study "
        "counts them in any case",
    )
    what.add_argument("--list", action="store_true", help="print the spaces and stop")
    what.add_argument("--keys", action="store_true", help="print every key that --set can change, and stop")
    what.add_argument("--version", action="version", version=f"{PACKAGE} {own_version()}")
    what.add_argument("--dry-run", action="store_true", help="print trials, resources and an estimate; run nothing")
    what.add_argument(
        "--scale",
        choices=("auto", *get_args(Scale)),
        default="auto",
        help="the paper's encoder, data and steps, or the built-in ones (default: paper where there is a GPU)",
    )
    what.add_argument(
        "--search",
        choices=get_args(Search),
        help="the paper's rows; or the rows and then the grid, or what Optuna asks for (default: paper, with --train "
        "optuna; a study that was searched goes on with its search, unless --only names rows)",
    )
    what.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help=f"new recipes for Optuna (default {TRIALS}; with --limit minutes as many as it leaves time for, "
        f"{OPEN_TRIALS} at most); each is run with the least seeds",
    )
    what.add_argument(
        "--seeds",
        default="1",
        metavar="N",
        help="seeds of every recipe (default 1); LEAST:MOST gives more than the least only where they can change which "
        "recipe is best, or whether a row is above the baseline. A race from one seed on loses the recipe that all "
        "seeds would choose in up to 21 %% of studies, mostly in 2 to 10 %%; from two seeds on in at most 11 %%",
    )
    what.add_argument(
        "--goals",
        metavar="NAME,...",
        help="what the search looks for and is judged by, instead of the space's own goals: a task (mytask, or "
        "mytask.ndcg@10), sts, transfer, selection (their mean), seconds, peak_memory_mb, encode_ms, embedding_dim; "
        "several are a Pareto front, or with weights one mean: mytask*2,other",
    )
    what.add_argument(
        "--finals",
        metavar="KxS",
        help="how a search ends: the best K recipes run again under S new random seeds, beside the base settings and "
        f"the encoder as it came (default {FINALS}); fewer of both where these would take more than half of a --limit; "
        "none leaves that out",
    )
    what.add_argument(
        "--learning-curve",
        action="store_true",
        help="would more data help? After the finals, what the answer says to use is trained on 1/8, 1/4 and 1/2 of "
        "the data, too, under the same seeds; a study that is done goes on with it",
    )
    what.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="minutes, gpu_hours or worker_hours of the study, its finals included, beyond which no trial begins (of "
        "minutes none runs on, either); seconds or peak_memory_mb of each trial, above which it cannot be the best; "
        "may be repeated",
    )
    what.add_argument(
        "--mteb",
        action="append",
        default=[],
        metavar="NAME,...",
        help="at the end the package mteb scores the kept models of rows and finalists, and the encoder as it came, on "
        "its own tasks (STS12,NFCorpus) or a benchmark ('MTEB(eng, v2)'), beyond any limit; may be repeated",
    )
    what.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ROW",
        help="run only this row, or these ('*-SCL'); may be repeated",
    )
    what.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of every recipe")
    what.add_argument(
        "--plugin",
        type=expanded,
        action="append",
        default=[],
        dest="plugins",
        metavar="FILE",
        help="run this Python file first: it adds objectives, tasks and the like; may be repeated",
    )
    data = parser.add_argument_group("data")
    data.add_argument("--nli", metavar="PATH", help="hub id, folder or files (JSONL, CSV, Parquet) of NLI pairs")
    data.add_argument(
        "--columns", metavar="OURS=YOURS,...", help="its columns: premise=text_a,hypothesis=text_b,label=y"
    )
    data.add_argument("--labels", metavar="OURS=YOURS,...", help="its labels: entailment=yes,neutral=maybe,...")
    data.add_argument("--senteval", metavar="DIR", help="folder in SentEval's layout (it holds downstream/)")
    data.add_argument("--documents", metavar="PATH", help="hub id, folder, text or JSONL file of documents")
    data.add_argument(
        "--evaluate",
        action="append",
        default=[],
        metavar="ROW=MODEL",
        help="folder or hub id of the model that a row evaluates or starts from; may be repeated",
    )
    data.add_argument("--word-vectors", metavar="FILE", help="GloVe text or .npy file, for rows of averaged vectors")
    where = parser.add_argument_group("where and how")
    where.add_argument(
        "--results",
        metavar="PLACE",
        help="a folder, or a URL such as s3://bucket/folder (default: the folder results/SPACE-SCALE)",
    )
    where.add_argument(
        "--keep-models",
        default="rows",
        metavar="N",
        help="trained models that are kept: of all trials, of none, or of the N best by the goals (default: rows, of "
        "each row and each recipe in the finals that of the best seed)",
    )
    where.add_argument(
        "--workers",
        default="1",
        metavar="N",
        help="Ray Train workers per trial (default 1); MIN:MAX lets a trial shrink and grow with the cluster",
    )
    where.add_argument(
        "--gpus-per-worker",
        type=float,
        metavar="X",
        help="default: 1 where the cluster has GPUs, or can grow them and --scale paper is asked for",
    )
    where.add_argument(
        "--cpus-per-worker", type=int, metavar="N", help="default: a fair share of the node's cores, at most 8"
    )
    where.add_argument(
        "--concurrent", type=int, metavar="N", help="trials at once (default: all that fit, once the cluster has grown)"
    )
    _add_names(where, "--sampler", SAMPLERS, None, "how Optuna chooses")
    early = "stop explored trials early (never the rows) where their training pauses for scores (a rung)"
    _add_names(where, "--scheduler", SCHEDULERS, "none", early)
    where.add_argument(
        "--rungs",
        metavar="AMOUNTS",
        help="where: 8 (parts of equal size), share:0.25,0.5, steps:100,300, epochs:0.5,1 or tokens:1e6,3e6 "
        f"(default {DEFAULT})",
    )
    if not arguments:
        parser.print_help()
        parser.exit()
    values: dict[str, Any] = vars(parser.parse_args(arguments))
    _check_own(values)
    values["search"] = values["search"] or ("optuna" if values["train"] and not values["recipe"] else "paper")
    if values["recipe"] and values["search"] != "paper":
        raise UserError("--recipe trains one recipe and --search looks for one; leave one of them out")
    if not (values["space"] or values["train"] or values["recipe"] or values["list"] or values["keys"]):
        raise UserError(
            "--space is missing; `--list` prints the spaces, and a file of your own is one too: ./my_space.py; or "
            "give your own data by --train, and an encoder by --encoder"
        )
    values["workers"], values["most_workers"] = parse_range("workers", values["workers"])
    values["seeds"], values["most_seeds"] = parse_range("seeds", values["seeds"])
    values["keep_models"] = _parse_keep(values["keep_models"])
    values["mteb"] = [name.strip() for names in values["mteb"] for name in _COMMA.split(names) if name.strip()]
    if values["mteb"] and values["keep_models"] == "none":
        raise UserError("--mteb scores the models that are kept; leave --keep-models none out")
    for name, least in (("trials", 1), ("concurrent", 1), ("cpus_per_worker", 1), ("max_rows", 1)):
        if values[name] is not None and values[name] < least:
            raise UserError(f"--{name.replace('_', '-')} must be at least {least}, not {values[name]}")
        if values[name] is not None and values[name] > MOST and name != "max_rows":
            raise UserError(f"--{name.replace('_', '-')} must be at most {MOST:,}, not {values[name]:g}")
    if values["gpus_per_worker"] is not None and not 0 <= values["gpus_per_worker"] < math.inf:
        raise UserError(f"--gpus-per-worker must be a number from 0 on, not {values['gpus_per_worker']:g}")
    if values["search"] != "optuna":
        if values["trials"] is not None:
            raise UserError("--trials is how many recipes Optuna explores; add --search optuna")
        if values["sampler"] is not None:
            raise UserError("--sampler is how Optuna chooses; add --search optuna")
        if values["search"] == "paper" and values["finals"] not in (None, "none"):
            raise UserError("--finals is how a search ends; add --search optuna or --search grid")
    if not values["plugins"]:  # which may add further names
        SAMPLERS[values["sampler"] or DEFAULT_SAMPLER], SCHEDULERS[values["scheduler"]]
    if values["scheduler"] != "none" and values["search"] == "paper":
        raise UserError(
            "--scheduler stops explored trials, never the paper's rows; add --search optuna or --search grid"
        )
    if values["rungs"] and values["scheduler"] == "none":
        raise UserError("--rungs is where a scheduler may stop explored trials; add --scheduler asha")
    values["rungs"] = parse_rungs(values["rungs"]) if values["rungs"] else DEFAULT
    values["finals_by"] = "default" if values["finals"] is None else "command"
    values["finals"] = parse_finals(values["finals"] or FINALS) if values["search"] != "paper" else None
    if values["learning_curve"] and values["finals"] is None:
        raise UserError(
            "--learning-curve trains what the finals of a search say to use on parts of the data; add --search optuna "
            "or --search grid, and leave --finals none out"
        )
    values["max_rows"] = values["max_rows"] or MOST_ROWS
    values["trials"] = values["trials"] or (OPEN_TRIALS if bounds_study(values["limit"]) else TRIALS)
    several = ("train", "encoder", "dev", "test", "set", "only", "evaluate", "plugins", "limit", "mteb")
    values |= {name: tuple(values[name]) for name in several}
    return Request(arguments=tuple(arguments), **values)


def _check_own(values: Mapping[str, Any]) -> None:
    """`UserError` for options that do not go with own data, or not without."""
    if not values["train"]:
        given = next(
            (name for name in ("encoder", "dev", "test", "write_space", "max_rows", "drop_leaks") if values[name]), None
        )
        if given is not None:
            raise UserError(f"--{given.replace('_', '-')} goes with --train; give your training data by --train FILE")
        return
    if values["recipe"]:
        given = next((name for name in ("encoder", "dev", "test", "write_space") if values[name]), None)
        if given is not None:
            raise UserError(f"--recipe has its encoder and what judges it; leave --{given.replace('_', '-')} out")
    elif not values["encoder"]:
        raise UserError("--train needs an encoder to begin with; add --encoder with its folder or hub id")
    other = next((name for name in ("space", "nli") if values[name]), None)
    if other is not None:
        raise UserError(f"--train makes a space of your own data, and --{other} names another; leave one of them out")
    if values["write_space"] and values["dry_run"]:
        raise UserError("--write-space writes a space and runs nothing; leave --dry-run out")


def parse_finals(text: str) -> tuple[int, int] | None:
    """`3x5` as the number of recipes and of seeds; None for `none`."""
    if text == "none":
        return None
    recipes, _, seeds = text.partition("x")
    try:
        numbers = int(recipes), int(seeds)
    except ValueError:
        raise UserError(f"--finals must be none, or RECIPESxSEEDS such as {FINALS}, not {shown(text)}") from None
    if numbers[0] < 1 or numbers[1] < 2:
        raise UserError(f"--finals {shown(text)}: it takes a recipe and two seeds of it to say anything")
    if max(numbers) > MOST_FINALS:
        raise UserError(f"--finals {shown(text)}: no more than {MOST_FINALS} recipes, or seeds, can be asked for")
    return numbers


def parse_range(option: str, text: str) -> tuple[int, int]:
    """`4` or `2:8` as the least and the most."""
    least, colon, most = text.partition(":")
    try:
        numbers = int(least), int(most if colon else least)
    except ValueError:
        raise UserError(f"--{option} must be a number, or MIN:MAX such as 1:4, not {shown(text)}") from None
    if numbers[0] < 1:
        raise UserError(f"--{option} must be at least 1, not {text}")
    if numbers[1] > MOST:
        raise UserError(f"--{option} must be at most {MOST:,}, not {shown(text)}")
    if numbers[0] > numbers[1]:
        raise UserError(f"--{option} {text}: the least comes first; did you mean {numbers[1]}:{numbers[0]}?")
    return numbers


def _parse_keep(text: str) -> KeepModels:
    if text in ("rows", "all", "none"):
        return cast(KeepModels, text)
    if not (text.isdecimal() and 0 < int(text) <= MOST):
        raise UserError(f"--keep-models must be all, none, rows or a number from 1 to {MOST:,}, not {shown(text)}")
    return int(text)


def own_version() -> str:
    """This project's version, installed or run from its checkout."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["version"])


def _add_names(group: Any, option: str, names: Registry[Any], default: str | None, meaning: str) -> None:
    """An option that takes a name from a registry. It is looked up later: a plugin may add to the registry."""
    known = "; ".join(f"{entry.name}: {entry.meaning}" for entry in names.values())
    group.add_argument(option, default=default, metavar="NAME", help=f"{meaning}. {known}")
