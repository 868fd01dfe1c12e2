"""`python -m reports upgrade RESULTS`: a results folder of an earlier version in today's form.

    print(upgrade(Path("results/x")))

It is made beside the folder, as `x.new`, and then takes its place; the folder as it was stays as `x.before`. What is
killed on the way changes nothing: the same command begins again, or ends what was all but done. Nothing else knows how
folders were before the first schema.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

from reports.ledger import STUDY, read_json
from reports.ledger.folders import LOCK, SCHEMA
from reports.upgrade.folder import OldFolder
from trainables.errors import UserError, shown


def upgrade(results: Path) -> str:
    """Bring the folder to today's schema; returns a sentence on what was done.

    `UserError` where it is no study's, of a newer version, or a study writes there now.
    """
    results = results.resolve()
    made, before = (results.with_name(f"{results.name}.{state}") for state in ("new", "before"))
    if not results.exists() and made.is_dir() and before.is_dir():  # killed between the two names
        made.rename(results)
        return f"{results}: the upgrade is finished; the folder as it was is {before}"
    if not (results / STUDY).is_file():
        raise UserError(f"{results} is not a results folder: it holds no {STUDY}; give a folder that a study wrote")
    old = read_json(results / STUDY, "a study's description")
    schema = old.get("schema", 0)
    if schema == SCHEMA:
        return f"{results} is of the present version already, and stays as it is"
    if schema != 0:
        raise UserError(f"{results} has the schema {shown(schema)}, and this version knows {SCHEMA}")
    if before.exists():
        raise UserError(f"{before} is there, where this folder would be kept as it is; move it away")
    with _alone(results):
        shutil.rmtree(made, ignore_errors=True)
        count = OldFolder(results, old).write(made)
        results.rename(before)
        made.rename(results)
    return f"{results}: {count} records were brought to schema {SCHEMA}; the folder as it was is {before}"


@contextlib.contextmanager
def _alone(results: Path) -> Iterator[None]:
    """`UserError` while a study writes there, as its lock tells."""
    if not (results / LOCK).is_file():
        yield
        return
    with open(results / LOCK, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"a study writes into {results} now; wait until it has ended") from None
        except OSError:  # some shared file systems lock nothing
            pass
        yield
