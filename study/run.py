"""Run, continue or extend a hyperparameter study, and write its report.

python study/run.py --space scl_ablation
ray job submit --working-dir . -- python study/run.py --space scl_ablation
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    # Run as a file, from a plain checkout or a job's working directory: the rooms lie beside this one, and this
    # folder itself must not hide standard modules.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from study.options import parse
from trainables.errors import UserError, answer_user_errors


def main(arguments: Sequence[str] | None = None) -> int:
    """The front door. `UserError` for a mistake of the person's, else the exit code."""
    request = parse(arguments)
    if request.list:
        return list_spaces()
    from study.cluster import allot, find_cluster
    from study.plan import check_plan, make_plan

    make_plan(request, gpus=0)  # mistakes in names and values show before a cluster is looked for
    cluster = find_cluster()
    plan = make_plan(request, cluster.gpus)
    print(f"scale {plan.scale} ({plan.reason})", flush=True)
    allotment = allot(cluster, request)
    check_plan(plan)
    from study.study import check_results, run_study

    check_results(plan)
    from study.preview import preview

    if request.dry_run:
        print(preview(plan, cluster, allotment))
        return 0
    print(preview(plan, cluster, allotment, brief=True), flush=True)
    try:
        failed = run_study(plan, cluster, allotment)
    except KeyboardInterrupt:
        print("\nstopped; finished trials are kept. Run the same command again to continue.", flush=True)
        return 130
    return report(plan.results, failed)


def list_spaces() -> int:
    """Every space, with its numbers of rows and domains."""
    from reports.markdown import count
    from search_spaces import spaces

    for space in spaces().values():
        rows, domains = count(len(space.rows), "row"), count(len(space.domains), "domain")
        tables = ", ".join(table.number for table in space.tables) or "none"
        print(f"{space.name}: {space.title}")
        print(f"    {space.paper}; {rows}, {domains}; tables: {tables}")
    return 0


def report(results: Path, failed: int) -> int:
    """Write the report and say where it is."""
    from reports.ledger import LEDGER, Ledger

    if failed:
        print(
            f"{failed} trial{'s' if failed > 1 else ''} failed; the reasons are above and in {results / 'failures'}. "
            "Run the same command again to retry.",
            file=sys.stderr,
        )
    if not Ledger(results / LEDGER).read():
        raise UserError(f"no trial of the study in {results} finished, so there is nothing to report")
    from reports.report import write_report

    print(f"report: {write_report(results)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
