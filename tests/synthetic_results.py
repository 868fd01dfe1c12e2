"""Results folders made up for the report's tests: records whose scores follow the published ones, with noise."""

from __future__ import annotations

import dataclasses
import inspect
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from reports.document import markdown
from reports.facts.recipe_names import recipe_names
from reports.facts.results import Results
from reports.facts.soup import Soups
from reports.ledger import LEDGER, MODELS, Finals, LearningCurve, Ledger, Record, StudyInfo, trial_key
from reports.ledger.finals import CURVE_SHARES, FIRST_FRESH_SEED, SoupVariant
from reports.made_up import VERSIONS
from reports.sections import SECTIONS, Section
from reports.testing import SectionContract, changed, made_record, write_trial
from reports.words.markdown import code
from search_spaces import Row, Space, spaces
from trainables.evaluation_config import EvaluationConfig, split
from trainables.recipe import Recipe
from trainables.senteval.tasks import GROUPS, TASKS

SPACES = spaces()
MADE: dict[str, tempfile.TemporaryDirectory[str]] = {}
SHARED: dict[str, Results] = {}
"""By what they are, of `made_once` and `shared`."""
Score = tuple[str, str]
"""A task and one of its numbers; without a task, an average."""


def make_results(
    folder: Path,
    space: Space | None = None,
    *,
    seeds: Iterable[int] = (1,),
    laptop: bool = True,
    rows: Iterable[str] | None = None,
    spread: float = 0.0,
    explored: int = 0,
    pruned: int = 0,
    drop_task: str | None = None,
    word_vectors: bool = False,
    base: dict[str, Any] | None = None,
    predictions: bool = False,
) -> StudyInfo:
    """A study with one record for each of `rows` (all by default) and seed.

    Scores are the published ones (made up where the paper prints none), 20 lower at the laptop's scale, plus Gaussian
    noise of standard deviation `spread`. `drop_task` has no data. Word vectors are missing unless asked for.
    With `predictions` every trial keeps some, of 60 items a task, and its scores are what these give: close to the
    figures said.
    """
    space = space or SPACES["scl_ablation"]
    chance = random.Random(7)
    scale: Any = "laptop" if laptop else "paper"
    of_recipe, of_evaluation = split(base or {})
    evaluation = space.scored(scale).override(of_evaluation)
    recipe = space.recipe(scale, evaluation).preferring(of_recipe)
    ledger, seeds = Ledger(folder / LEDGER), list(seeds)
    hashes: dict[str, str | None] = {}

    def write(record: Record) -> None:
        if predictions and record.status == "finished":
            write_trial(folder, record)
        else:
            ledger.write(record)

    for row in space.rows:
        of_row = recipe.override(row.overrides)
        hashes[row.label] = None if row.needs and not word_vectors else of_row.hash
        if hashes[row.label] and (rows is None or row.label in rows):
            for seed in seeds:
                figures = {
                    name: v - 20 * laptop + chance.gauss(0, spread) for name, v in figures_of(space, row).items()
                }
                write(make_record(of_row, evaluation, seed, figures, drop_task))
    searched = []
    typical = next((row for row in space.rows[1:] if row.needs is None), space.rows[0])
    for number in range(explored + pruned):
        values = {domain.key: chance.choice(domain.grid_values) for domain in space.domains if domain.when is None}
        values |= {"objective.weight": round(chance.random(), 3)} if "objective.weight" in values else {}
        for domain in space.domains:
            if domain.when is not None and values[domain.when[0]] in domain.when[1]:
                values[domain.key] = chance.choice(domain.grid_values)
        chosen = recipe.preferring(values)
        searched.append(chosen.hash)
        figures = {name: v - 20 * laptop + chance.gauss(0, 2) for name, v in figures_of(space, typical).items()}
        status = "pruned" if number >= explored else "finished"
        for seed in seeds:
            write(make_record(chosen, evaluation, seed, figures, drop_task, status))
    info = StudyInfo(
        space=space.name,
        scale="laptop" if laptop else "paper",
        scale_reason="the cluster has no GPU" if laptop else "the cluster has 8 GPUs",
        search="optuna" if explored else "paper",
        trials=explored + pruned or None,
        seeds=seeds,
        base=dict(recipe.flat()),
        evaluation=dict(evaluation.flat()),
        row_hashes=hashes,
        searched=[domain.key for domain in space.domains],
        explored=searched,
        versions={"ray": "2.60.0", "torch": "2.13.0", "optuna": "5.0.0"},
        hardware="2 cores",
        requests=[{"space": "scl_ablation"}],
        created_at="2026-01-01T00:00:00Z",
        status_counts={"finished": 1, "failed": 2},
    )
    info.save(folder)
    return info


def made_once(folder: Path, what: object, make: Callable[[Path], object]) -> None:
    """Fill the folder as `make` does. It runs for the first who asks for `what`, and others get copies."""
    shutil.copytree(_made(repr(what), make), folder, dirs_exist_ok=True)


def shared(what: object, make: Callable[[Path], object]) -> Results:
    """The same for all who only read it, with what was reckoned from it."""
    name = repr(what)
    if name not in SHARED:
        SHARED[name] = Results.load(_made(name, make))
    return SHARED[name]


def _made(name: str, make: Callable[[Path], object]) -> Path:
    if name not in MADE:
        MADE[name] = tempfile.TemporaryDirectory()
        make(Path(MADE[name].name))
    return Path(MADE[name].name)


def keeps_its_contract(section: Section, results: Results) -> None:
    """Every test of a section's contract, on this study."""
    for name, test in vars(SectionContract).items():
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                values = {"self": SectionContract(), "section": section, "results": results, "tmp_path": Path(folder)}
                test(**{parameter: values[parameter] for parameter in inspect.signature(test).parameters})


def section_text(folder: Path, name: str) -> str:
    """A section of the report on a results folder, as markdown; empty where it does not apply."""
    return markdown(SECTIONS[name].written(Results.load(folder), folder / "pictures").blocks)


def table_lines(text: str) -> list[list[str]]:
    """The cells of every line of the tables in a text of markdown, heads and rules too."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def named_in(results: Results, text: str) -> list[str]:
    """The hashes of the recipes that a text names, in its order."""
    hashes = {code(name): recipe_hash for recipe_hash, name in recipe_names(results).items()}
    return [hashes[name] for name in re.findall(r"`[^`]+`", text) if name in hashes]


def figures_of(space: Space, row: Row) -> dict[Score, float]:
    """The row's published figures by score, and made up ones where its tables have a column without."""
    chance, figures = random.Random(row.label), {}
    columns = [
        (table.number, column, column.score or ("", column.average or ""))
        for table in space.tables
        for column in table.columns
        if not column.mean_of and row.label in {label for _, label in table.rows}
    ]
    for number, column, score in columns:
        if column.name in row.published.get(number, {}):
            figures[score] = row.published[number][column.name]
    for _, _, score in columns:
        figures.setdefault(score, 65 + 10 * chance.random())
    return figures


def make_record(
    recipe: Recipe,
    evaluation: EvaluationConfig,
    seed: int,
    figures: dict[Score, float],
    drop_task: str | None = None,
    status: Any = "finished",
) -> Record:
    """A record with these test scores, and development scores close to them."""
    scores: dict[str, dict[str, Any]] = {}
    for (task, name), value in figures.items():
        if not task:
            continue
        value = min(99.5, max(0.0, value))
        numbers = scores.setdefault(task, {"examples": 1000})
        if task == drop_task:
            numbers |= {name: None, "reason": f"{task} is not in the folder"}
        else:
            numbers[name] = value
            numbers |= {"dev_accuracy": value + 0.5} if name == "test_accuracy" else {}
    sts = [value for (_, name), value in figures.items() if name.startswith(("spearman", "test_spearman"))]
    if sts:
        scores.setdefault("STSBenchmark", {"examples": 1000}).setdefault("dev_spearman_cosine", sum(sts) / len(sts))
    for (task, name), value in figures.items():
        if not task:
            _fill(scores, name, value)
    objective: Any = recipe.flat()
    return made_record(
        recipe=dict(recipe.flat()),
        recipe_hash=recipe.hash,
        seed=seed,
        status=status,
        scores=scores,
        protocol=evaluation.protocol,
        training={
            "loss": 0.8, "last_loss": 0.7, "steps": 90, "tokens": 50_000, "pairs": 5760, "anchors": 1935,
            "batches_without_anchor": 0,
            "positives_per_anchor": float(objective.get("objective.positives") or 1.4),
            "negatives_per_anchor": float(objective.get("objective.negatives") or 61),
        },
        cost={
            "seconds": 60.0, "evaluation_seconds": 24.0,
            "train_seconds": 20.0 + 16 * (objective.get("objective.name") == "scl"),
            "gpu_seconds": 0.0, "peak_memory_mb": 900,
        },
        versions=dict(VERSIONS),
        hardware="2 cores",
        data={
            "corpus": {"source": "scenes", "pairs": 12000, "fingerprint": "abc123"},
            "senteval": {"source": "scenes", "fingerprint": "def456"},
        },
        finished_at=f"2026-01-01T00:00:{seed % 60:02d}Z",
    )  # fmt: skip


def _fill(scores: dict[str, dict[str, Any]], average: str, value: float) -> None:
    """Scores whose average is about this; what is there stays. The mean of the other two needs nothing of its own."""
    if average.endswith("_all"):
        return
    probing = GROUPS["probing"]
    for task in probing if "probing" in average else [task for task in TASKS if task not in probing]:
        numbers = scores.setdefault(task, {"examples": 1000})
        for name in ("dev_accuracy", "dev_pearson_regressor", "dev_recall", "spearman_mean"):
            numbers.setdefault(name, value)


def with_goals(record: Record, sts: float | None, transfer: float | None) -> Record:
    """The record with these development scores for the two goals."""
    scores = {task: dict(numbers) for task, numbers in record.scores.items()}
    for task, number, value in [
        ("STSBenchmark", "dev_spearman_cosine", sts),
        *((task, "dev_accuracy", transfer) for task in GROUPS["transfer"]),
    ]:
        scores.setdefault(task, {})[number] = value
    return changed(record, scores=scores)


def lifted(record: Record, by: float, tasks: Collection[str] = (), numbers: tuple[str, ...] = ("",)) -> Record:
    """The record with higher scores: of these tasks or of all, in numbers that begin so."""

    def score(task: str, name: str, value: float) -> float:
        return value + by if name.startswith(numbers) and (not tasks or task in tasks) else value

    return changed(record, scores=_each(record, score))


def _each(record: Record, score: Callable[[str, str, float], float]) -> dict[str, dict[str, Any]]:
    """The record's scores, each another by its task, its number's name and its value."""
    return {
        task: {name: score(task, name, value) if isinstance(value, float) else value for name, value in of.items()}
        for task, of in record.scores.items()
    }


def add_finals(
    folder: Path,
    gains: Sequence[float],
    *,
    base_over_encoder: float = 5.0,
    std: float = 0.3,
    seeds: int = 5,
    missing: int = 0,
    tasks: Mapping[str, float] | None = None,
    finalists: Sequence[str] = (),
    predictions: bool = False,
) -> StudyInfo:
    """Finals of a made-up search: its first explored recipes, or `finalists` by their hashes, gain so much over the
    base, which gains so much over the original encoder; `std` is the seeds' own. `missing` trials have not run.
    `tasks`: what the finalists gain on single tasks besides."""
    results, chance = Results.load(folder), random.Random(11)
    finalists = list(finalists or results.explored[: len(gains)])
    untrained_recipe = results.base.preferring({"optimisation.epochs": 0})
    recipes = {key: Recipe.from_flat(results.recipes[key][0].recipe) for key in finalists}
    baseline = next(row for row in results.space.rows if row.needs is None)
    level = {name: value - 20 for name, value in figures_of(results.space, baseline).items()}
    trials = [(recipes[key], gain, seed) for key, gain in zip(finalists, gains, strict=True) for seed in range(seeds)]
    trials += [(results.base, 0.0, seed) for seed in range(seeds)]
    records = []
    for recipe, gain, seed in trials[missing:]:
        luck = chance.gauss(0, std)
        own = tasks if tasks and recipe is not results.base else {}
        figures = {score: value + gain + luck + own.get(score[0], 0.0) for score, value in level.items()}
        records.append(make_record(recipe, results.evaluation, FIRST_FRESH_SEED + seed, figures))
    untrained = {score: value - base_over_encoder for score, value in level.items()}
    records.append(make_record(untrained_recipe, results.evaluation, FIRST_FRESH_SEED, untrained))
    for record in records:
        record = changed(record, checkpoint=f"models/{record.key}")
        write_trial(folder, record) if predictions else Ledger(folder / LEDGER).write(record)
    finals = Finals(len(gains), seeds, finalists, results.base.hash, untrained_recipe.hash)
    info = dataclasses.replace(results.info, finals=finals, across=[] if predictions else ["items"])
    info.save(folder)
    return info


def add_curve(
    folder: Path,
    whole: str,
    losses: Mapping[str, float],
    *,
    std: float = 0.3,
    missing: int = 0,
    predictions: bool = False,
) -> StudyInfo:
    """A learning curve of a recipe of the finals, by its hash: on these shares of its data it scores so much less than
    on all, under the finals' seeds; on other shares it cannot be trained. `missing` trials of the last one have not
    run."""
    results, chance = Results.load(folder), random.Random(12)
    info, finals = results.info, results.info.finals
    level = results.finals[whole][: finals.seeds]
    parts: dict[str, str | None] = dict.fromkeys(CURVE_SHARES)
    records = []
    for share, loss in losses.items():
        recipe = Recipe.from_flat(level[0].recipe).override({"corpus.share": CURVE_SHARES[share]})
        parts[share] = recipe.hash
        for record in level:
            moved = chance.gauss(0, std) - loss
            scores = _each(record, lambda task, name, value, moved=moved: min(99.5, value + moved))
            data = {**record.data, "corpus": {**record.data["corpus"], "pairs": round(12000 * CURVE_SHARES[share])}}
            training = {**record.training, "steps": round(90 * CURVE_SHARES[share])}
            part = changed(record, scores=scores, checkpoint=None)
            own = {"recipe": dict(recipe.flat()), "recipe_hash": recipe.hash, "data": data, "training": training}
            records.append(dataclasses.replace(part, **own))
    for record in records[: len(records) - missing]:
        write_trial(folder, record) if predictions else Ledger(folder / LEDGER).write(record)
    finals = dataclasses.replace(finals, curve=LearningCurve(whole, parts))
    info = dataclasses.replace(info, finals=finals)
    info.save(folder)
    return info


def add_soups(folder: Path, whole: str, gains: Mapping[float, float], *, std: float = 0.1, missing: int = 0) -> None:
    """Soups of a recipe of the finals, by its hash: with these shares of training they score so much more than its
    seeds in the mean; then one without each seed, of the chosen share. `missing` of these have not run."""
    results, chance = Results.load(folder), random.Random(13)
    finals = results.info.finals
    level = list(results.finals[whole])[: finals.seeds]

    def soup(variant: SoupVariant) -> Record:
        left = [record for record in level if record.seed != variant.without]
        gain = gains[variant.share] + (chance.gauss(0, std) if variant.without else 0.0)
        means = _each(level[0], lambda task, name, _: fmean(record.scores[task][name] for record in left) + gain)
        averaged = {"averaged": {"models": [record.key for record in left], "share": variant.share}}
        checkpoint = f"{MODELS}/{trial_key(whole, variant.seed)}"
        made = changed(level[0], scores=means, checkpoint=checkpoint)
        return dataclasses.replace(made, seed=variant.seed, data={**made.data, **averaged})

    ledger = Ledger(folder / LEDGER)
    for share in gains:
        ledger.write(soup(SoupVariant(share)))
    without = Soups(Results.load(folder), whole).without
    for variant in without[: len(without) - missing]:
        ledger.write(soup(variant))
