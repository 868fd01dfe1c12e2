"""Checks before a study starts: recipes whose data or models are missing, or whose settings do not fit together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from trainables.corpora.layouts import Layout, check_sentences
from trainables.corpora.nli import stamps
from trainables.encoders.availability import known_width
from trainables.encoders.check import check_encoder, check_trainable
from trainables.encoders.own_modules import differences_from_original as modules_left_out
from trainables.encoders.own_modules import kept_model_end
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.objectives import check_bank, check_objective, guide_config
from trainables.objectives.objective import Objective
from trainables.objectives.widths import Widths
from trainables.recipe import SCENES, Recipe
from trainables.senteval import GROUPS, check_data, task_names
from trainables.senteval.cosines import sentences
from trainables.senteval.evaluation import notes_on_left_out_rows
from trainables.senteval.tasks import TASKS
from trainables.training.rungs import Measure, RungPlan
from trainables.trial.data_requests import sampler_request, senteval_folder
from trainables.trial.kept_by import keeping_measure

_SCORES = 10
"""Number of development scores that is enough to choose among the weights of a training."""


def check_recipes(recipes: Sequence[Recipe], evaluation: EvaluationConfig) -> None:
    """Raise `UserError` for the first recipe that cannot run, or for an evaluation that cannot run.

    The check is quick and downloads nothing. Local training files are read completely, once for all recipes.
    """
    trained = [recipe for recipe in recipes if recipe.trains]
    frozen_configs = chain.from_iterable((guide_config(recipe), recipe.part(Layout).miner) for recipe in trained)
    frozen = {config for config in frozen_configs if config is not None}
    for encoder in sorted({recipe.encoder for recipe in recipes} | frozen, key=lambda config: config.name):
        check_encoder(encoder)
    for recipe in recipes:
        if recipe.trains:
            check_objective(recipe)
            check_widths(recipe)
            check_bank(recipe)
        check_trainable(recipe)
        if recipe.trains and recipe.optimisation.keep == "best":
            tasks = keeping_measure(recipe.optimisation.keep_by).all_tasks
            subject = f"optimisation.keep=best chooses weights by the development score of {', '.join(tasks)}"
            _check_there(recipe.optimisation.senteval, tasks, subject, "take another optimisation.keep")
    _check_data(evaluation.senteval, task_names(evaluation.tasks))
    if evaluation.heat_map != "none":
        sentences(evaluation.heat_map)
    for recipe in recipes:
        if not recipe.trains and recipe.pooling.after == "none":
            continue  # the recipe reads no corpus
        request = sampler_request(recipe, seed=0)
        if recipe.pooling.after != "none":
            check_sentences(recipe.part(Layout), request)
        if recipe.trains:
            recipe.part(Layout).check(request)


def check_widths(recipe: Recipe) -> None:
    """Raise `UserError` if a size in `objective.dims` is not below the encoder's, if this is known before loading."""
    objective, dim = recipe.part(Objective), known_width(recipe.encoder)
    if isinstance(objective, Widths) and dim is not None:
        objective.check_dim(dim)


def check_development(evaluation: EvaluationConfig, measure: Measure, subject: str, alternative: str) -> None:
    """Raise `UserError` if a training would have no development score. The message starts with `subject`, which names
    the option that needs the score, and ends with `alternative`, what a user can do instead of adding a task."""
    if measure.number == "seconds":
        return
    if all(TASKS[task].development != measure.number for task in measure.tasks):
        raise UserError(f"{subject} while they train, when the goal {measure.name!r} is not known yet; {alternative}")
    scored = [task for task in task_names(evaluation.tasks) if task in measure.tasks]
    single = len(measure.tasks) == 1
    subject = f"{subject} by the development score of {measure.tasks[0] if single else 'tasks'}"
    if not scored:
        which = "which is not" if single else f"and none of {', '.join(measure.tasks)} is"
        raise UserError(
            f"{subject}, {which} among evaluation.tasks ({', '.join(evaluation.tasks)}); add it with --set "
            f"evaluation.tasks={','.join((*evaluation.tasks, measure.tasks[0]))}, or {alternative}"
        )
    _check_there(evaluation.senteval, scored, subject, alternative)


def _check_there(senteval: str, tasks: Sequence[str], subject: str, alternative: str) -> None:
    try:
        _check_data(senteval, tasks)
    except UserError as error:
        raise UserError(f"{subject}: {error}; add its files, or {alternative}") from None


def _check_data(senteval: str, tasks: Sequence[str]) -> None:
    if senteval == SCENES:  # the scenes have all of SentEval's tasks, and no added tasks
        tasks = [task for task in tasks if task not in GROUPS["all"]]
    if tasks:
        check_data(senteval_folder(senteval), tasks)


def forecast_rungs(rungs: RungPlan, recipe: Recipe) -> tuple[bool, int] | None:
    """Return whether a training reaches its first rung before its last step, and its number of steps. None if only a
    worker can know this: for a corpus that is not downloaded yet, for spans of tokens, and for rungs in tokens.
    No negatives are mined (`Layout.count_steps`)."""
    epoch = None if rungs.unit == "tokens" else _steps_of_epoch(recipe)
    if epoch is None:
        return None
    steps = recipe.optimisation.steps(epoch)
    reached = rungs.in_steps(epoch).reached(steps - 1, steps, tokens=0)
    return reached > 0, steps


def _steps_of_epoch(recipe: Recipe) -> int | None:
    """Return the steps of an epoch. None for a corpus that is not downloaded yet, and for spans of tokens."""
    layout = recipe.part(Layout)
    fetched = layout.reads == "corpus.nli" and stamps(str(recipe.flat()["corpus.nli"])) is None
    return None if layout.draws_tokens or fetched else layout.count_steps(sampler_request(recipe, seed=0))


def remarks(recipes: Sequence[Recipe]) -> list[str]:
    """Return remarks about encoders and training data, to read before a study. The recipes must be checked already."""
    encoders = (_encoder_remarks(recipe) for recipe in recipes)
    trained = [recipe for recipe in recipes if recipe.trains]
    sentences = (recipe.part(Layout).remarks(sampler_request(recipe, seed=0)) for recipe in trained)
    return list(dict.fromkeys(chain.from_iterable([*encoders, *sentences, *map(_score_remarks, trained)])))


def _score_remarks(recipe: Recipe) -> list[str]:
    """Return a remark if a training has too few scores to choose weights by, or to end by `optimisation.patience`."""
    config = recipe.optimisation
    epoch = _steps_of_epoch(recipe) if config.keep == "best" else None
    if epoch is None:
        return []
    steps = config.steps(epoch)
    needed = config.keep_every * (1 if config.patience is None else config.patience + 1)
    if steps > needed:
        return []
    once = steps <= config.keep_every
    often = "once" if once else f"{-(-steps // config.keep_every)} times"
    what = "keeps its last weights" if once else f"never ends by optimisation.patience={config.patience}"
    fewer = max(1, steps // max(_SCORES, 2 * ((config.patience or 0) + 1)))
    return [
        f"optimisation.keep=best: a training of {steps:,} steps is scored {often} at "
        f"optimisation.keep_every={config.keep_every}, so that it {what}; take optimisation.keep_every={fewer} or so"
    ]


def task_remarks(evaluation: EvaluationConfig) -> list[str]:
    """Return remarks about examples in the files of added tasks that are not scored, with their numbers."""
    added = [name for name in task_names(evaluation.tasks) if name not in GROUPS["all"]]
    return notes_on_left_out_rows(senteval_folder(evaluation.senteval), added) if added else []


def _encoder_remarks(recipe: Recipe) -> list[str]:
    omitted, name = modules_left_out(recipe), recipe.encoder.name
    endings = kept_model_end(recipe.encoder)
    what = "scored leaves" if endings else "scored and saved leaves"
    remark = f"encoder.name={name!r}: what is {what} out {', '.join(omitted)}"
    remark += f"; what is saved has {' and '.join(endings)} again" if endings else ""
    mode = recipe.flat().get("pooling.mode")
    follows = f"; pooling.mode={mode} follows its transformer" if mode else ""
    return [remark + follows] if omitted else []
