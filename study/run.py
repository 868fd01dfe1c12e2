"""Run, continue or extend a hyperparameter study, and write its report.

python study/run.py --train pairs.csv --encoder DIR
python study/run.py --space scl_ablation
ray job submit --working-dir . -- python study/run.py --space scl_ablation
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __package__ in (None, ""):
    # Run as a file, from a plain checkout or a job's working directory: the other packages are beside this one, and
    # this folder itself must not hide standard modules.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from study.cli.terminal import say_lines
from study.signals import exit_at_signals, exit_code_of, ignore_sigterm
from trainables.errors import UserError, answer_user_errors

if TYPE_CHECKING:
    from reports.facts.answer import Answer
    from reports.ledger.location import ResultsLocation
    from reports.ledger.request import Request

LEAST_WHY_MINUTES = 3
"""With fewer minutes left of the limit, `--why` does not run after an answer other than `use`."""


def command() -> int:
    """Run `main` as a command line, and return the exit code, which is 2 for a mistake in the command."""
    code = answer_user_errors(main)
    exit_at_signals(code)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and return the exit code; `UserError` for a mistake of the person's."""
    return exit_code_of(lambda: _run(_parse(arguments)))


def run(request: Request) -> int:
    """Run a checked request, and return the exit code; `UserError` for a mistake of the person's."""
    return exit_code_of(lambda: _run(request))


def _parse(arguments: Sequence[str] | None) -> Request:
    from study.cli.options import parse

    return parse(arguments)


def _run(request: Request) -> int:
    if request.list or request.keys:
        from study.cli.listing import list_keys, list_spaces

        return list_keys(request.plugin) if request.keys else list_spaces()
    if request.why is not None:
        from reports.ledger.location import open_location
        from search_spaces.limits import parse_limits
        from study.why.page import write

        location, limits = open_location(request.why, Path()), parse_limits(request.limit)
        say_lines(write(location, limits.get("minutes")))
        return 0
    scored_by = []
    if request.mteb:
        from reports.mteb_scores import tasks_of

        scored_by = tasks_of(request.mteb)
    if request.write_space is not None:
        from study.own.space import write_space

        write_space(request)
        return 0
    from study.plan import decide, read_request

    draft = read_request(request)
    from study.engine.cluster import allot, find_cluster, inside_copy, lasting
    from study.search.budget import check_limits

    cluster = find_cluster()
    plan = decide(draft, cluster.gpus)
    if not request.of_own_data:
        print(f"scale {plan.scale} ({plan.reason})", flush=True)
    results = request.results or draft.subject.results
    if results and inside_copy() and plan.results == lasting(Path(results)):
        print(f"results in {plan.results}: a Ray job's copy of a working directory is thrown away", flush=True)
    allotment = allot(cluster, request)
    check_limits(plan.limits, allotment.resources.gpus)
    from study.pace import cut_to_limit

    if cut := cut_to_limit(plan, allotment):
        plan = decide(cut, cluster.gpus)
    from study.check import check_plan, notes, warnings
    from study.engine.launch import run_study
    from study.planned_power import few_items
    from study.results_folder.check import check_results, continued, set_aside

    plan.location.pull()
    check_results(plan)
    plan = continued(plan)
    check_plan(plan)
    for warning in [*set_aside(plan.ledger), *warnings(plan, on_gpu=allotment.resources.gpus > 0), *few_items(plan)]:
        print(f"warning: {warning}", flush=True)
    from study.dry_run import in_short, preview

    if request.dry_run or not request.of_own_data:
        for note in notes(plan):
            print(f"note: {note}", flush=True)
    if request.dry_run:
        if request.of_own_data and draft.subject.file is not None:
            print("\nthe space that it runs, which --write-space my_space.py keeps; its DATA are written when it runs:")
            print(f"\n{draft.subject.file.text}")
        print(preview(plan, cluster, allotment))
        if request.of_own_data:
            print(f"\n{in_short(plan, cluster)}")
        return 0
    print(preview(plan, cluster, allotment, brief=True), flush=True)
    from reports.ledger import FAILURES
    from study.search.budget import Budget

    before, _ = plan.ledger.sift()
    budget = Budget(plan.limits, before)
    try:
        failed = run_study(plan, cluster, allotment)
    except KeyboardInterrupt:
        ignore_sigterm()
        if report(plan.location) is None:
            print("no trial had finished", flush=True)
        raise
    if failed:
        print(
            f"{failed} trial{'s' if failed > 1 else ''} failed; the reasons are above and in "
            f"{plan.location.address_of(FAILURES)}. Run the same command again to retry.",
            file=sys.stderr,
        )
    unscored = bool(scored_by) and not score_by_mteb(plan.location, scored_by)
    answer = report(plan.location)
    if answer is None:
        raise UserError(f"no trial of the study in {plan.location.shown} finished, so there is nothing to report")
    if answer.kind in ("base", "as it came", "open") and plan.request.train:
        ran = len(plan.ledger.sift()[0]) > len(before)
        explain(plan.location, budget.seconds_left() / 60 if ran and not cluster.joined else 0.0)
    return 1 if failed or unscored else 0


def score_by_mteb(location: ResultsLocation, tasks: Sequence[Any]) -> bool:
    """Score the kept models with the package `mteb`; print a warning and return False, not raise, if that fails."""
    from reports.mteb_scores import score

    try:
        score(location, tasks)
    except Exception as error:  # tasks and their data may raise anything
        name = "" if isinstance(error, UserError) else f"mteb failed with {type(error).__name__}: "
        print(f"warning: {name}{error}", file=sys.stderr, flush=True)
        return False
    return True


def report(location: ResultsLocation) -> Answer | None:
    """Write the report, print its location and its answer, and return the answer; None if no trial is finished."""
    from reports.ledger import LEDGER, LOOKS, Ledger

    if not any(record.status == "finished" for record in Ledger(location.folder / LEDGER).read()):
        return None
    from reports.facts.answer import Answer
    from reports.facts.looks import record_look
    from reports.formats import FORMATS
    from reports.report import write_unrecorded
    from reports.words.answer import lines
    from reports.words.lines import as_text

    location.renew(LOOKS)  # a reader may have looked while the study ran
    results = write_unrecorded(location.folder, ("md",))
    record_look(results, location.folder)
    location.push_changed()
    print(f"report: {location.address_of(FORMATS['md'].file)}", flush=True)
    answer = Answer.of(results)
    say_lines(as_text(lines(answer, results.info, str)))  # a command may hold a row's label
    return answer


def explain(location: ResultsLocation, left: float) -> None:
    """Print possible reasons for a missing gain, if the limit has enough minutes left. Otherwise, and if that fails,
    print the command that finds them: the study has its answer anyway."""
    from reports.ledger import StudyInfo
    from reports.words.commands import WHY_MINUTES, why_command
    from study.why.page import write

    hint = why_command(StudyInfo.load(location.folder))
    if not LEAST_WHY_MINUTES <= left < math.inf:
        say_lines([f"Why    {hint}"])
        return
    try:
        say_lines(write(location, min(int(left), WHY_MINUTES)))
    except (UserError, OSError, RuntimeError, MemoryError) as error:
        say_lines([f"warning: {error}", f"Why    {hint}"])


if __name__ == "__main__":
    sys.exit(command())
