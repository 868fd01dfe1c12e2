"""Where a thing is that a plugin looks for at an old place: for one clear sentence. No alias leads there."""

from __future__ import annotations

import re
import types

MOVED = {
    "reports.ledger.location.Place": "reports.ledger.location.ResultsLocation",
    "reports.ledger.location.open_place": "reports.ledger.location.open_location",
    "reports.distributions": "study.search.distributions, and search_spaces.domain_values",
    "reports.evidence.Board": "reports.boards.Board",
    "reports.evidence.Standing": "reports.boards.Standing",
    "reports.live.parts": "reports.live.html",
    "reports.live.rebuilt": "reports.live.report_process",
    "reports.names": "reports.ledger.names",
    "reports.place": "reports.ledger.location",
    "reports.racing": "reports.seed_race",
    "reports.scratch": "reports.scratch_copy",
    "reports.sections.claims_not_run": "reports.sections.open_claims",
    "reports.sections.forest": "reports.sections.glance",
    "reports.sections.in_short": "reports.sections.sure",
    "reports.sections.words": "reports.wording",
    "reports.storage": "reports.ledger.storage",
    "reports.verdicts": "reports.claim_verdicts",
    "study.actors": "study.engine.ray_internals",
    "study.address": "study.engine.address",
    "study.budget": "study.search.budget",
    "study.callbacks.Outlook": "study.callbacks.StudyState",
    "study.callbacks.WATCHERS": "study.callbacks.CALLBACKS",
    "study.callbacks.Watcher": "study.callbacks.Callback",
    "study.callbacks.WatcherEntry": "study.callbacks.CallbackEntry",
    "study.checkpoints": "study.engine.checkpoints",
    "study.cluster": "study.engine.cluster",
    "study.courier": "study.engine.transport",
    "study.crew": "study.engine.worker_group",
    "study.desk": "study.engine.coordinator",
    "study.driver": "study.engine.trainable",
    "study.explorer": "study.search.ask_tell",
    "study.growth": "study.engine.autoscaler",
    "study.halving": "study.search.halving",
    "study.journal": "study.search.journal",
    "study.judge": "study.search.tune_schedulers",
    "study.keeper": "study.engine.result_writer",
    "study.learning": "study.search.warm_start",
    "study.listing": "study.cli.listing",
    "study.live": "study.callbacks.live_page",
    "study.options": "study.cli.options",
    "study.optuna_samplers": "study.search.optuna_samplers",
    "study.perform": "study.engine.worker",
    "study.plan.PlannedTrial": "study.trial.Trial",
    "study.points": "study.search.points",
    "study.preview": "study.dry_run",
    "study.racing": "study.search.seed_race",
    "study.records": "study.engine.records",
    "study.redact": "study.results_folder.redact",
    "study.samplers": "study.search.samplers",
    "study.schedulers": "study.search.schedulers",
    "study.scoring": "study.engine.scoring",
    "study.searcher": "study.search.tune_searcher",
    "study.spec": "study.trial",
    "study.study": "study.engine.launch",
    "study.terminal": "study.cli.terminal",
    "study.testing.SamplerContract": "study.testing.search.SamplerContract",
    "study.testing.SchedulerContract": "study.testing.search.SchedulerContract",
    "study.versions": "study.results_folder.versions",
    "study.watchers": "study.callbacks, with CALLBACKS, Callback and CallbackEntry",
    "trainables.encoders.pool": "trainables.encoders.pooling, with a class for each",
    "trainables.encoders.pooling_functions": "trainables.encoders.pooling, with a class for each",
    "trainables.encoders.presence": "trainables.encoders.availability",
    "trainables.encoders.project": "trainables.encoders.projection, with a class for each",
    "trainables.encoders.projection_heads": "trainables.encoders.projection, with a class for each",
    "trainables.encoders.stock": "trainables.encoders.saved_modules",
    "trainables.fidelity": "trainables.recipe.FIDELITY",
    "trainables.idle": "trainables.recipe.existing",
    "trainables.kept": "trainables.process_cache",
    "trainables.objectives.ObjectiveEntry": "trainables.objectives.objective.Objective",
    "trainables.process_cache.KEPT": "trainables.process_cache.PROCESS_CACHE",
    "trainables.recipe.EvaluationConfig": "trainables.evaluation_config.EvaluationConfig",
    "trainables.recipe.SpansConfig": "trainables.corpora.spans.SpanOptions",
    "trainables.senteval.read": "trainables.senteval.read_task",
    "trainables.senteval.readers": "trainables.senteval.file_layouts, with FILE_LAYOUTS",
    "trainables.senteval.retrieval": "trainables.senteval.projections",
    "trainables.senteval.score": "trainables.senteval.scoring",
    "trainables.senteval.scorers": "trainables.senteval.kinds, with KINDS and TaskKind",
    "trainables.to_device.onto": "trainables.to_device.to_device",
    "trainables.training.keeping": "trainables.training.weights_kept",
    "trainables.training.later": "trainables.training.pending_numbers",
    "trainables.training.roles": "trainables.training.query_document",
    "trainables.training.streams": "trainables.training.dropout_streams",
    "trainables.training.turns": "trainables.training.lora_population",
    "trainables.transfer": "trainables.to_device",
    "trainables.trial.between": "trainables.trial.process_reset",
    "trainables.trial.finish": "trainables.trial.save_and_score",
    "trainables.trial.places": "trainables.trial.data_requests",
    "trainables.trial.rungs": "trainables.trial.watcher",
    "trainables.typed": "trainables.typed_json",
}
"""Old name to new one, of modules and of what is in them; of a package for all that was in it."""
_NAMES = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")


def moved(error: BaseException) -> str | None:
    """`trainables.kept is now trainables.process_cache`, where that is why an import, or an attribute, failed."""
    missing = ""
    if isinstance(error, ImportError):
        named = _NAMES.match(str(error))
        missing = f"{named[2]}.{named[1]}" if named else error.name or ""
    elif isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType):
        missing = f"{error.obj.__name__}.{error.name}"
    return f"{missing} is now {MOVED[missing]}" if missing in MOVED else None
