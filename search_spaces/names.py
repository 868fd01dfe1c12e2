"""Names that refer to something: refused where nothing is called so, or two things are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trainables.errors import UserError, choices, did_you_mean, shown
from trainables.senteval.tasks import TASKS


def check_name(where: str, noun: str, name: str, names: Iterable[str]) -> None:
    """`UserError` with the nearest name, or all of them, if `name` is none of the names. `noun` is what one is."""
    options = list(names)
    if name in options:
        return
    right = did_you_mean(name, options).rstrip() or f"there is {choices(map(repr, options)) if options else 'none'}"
    raise UserError(f"{where}: no {noun} is called {shown(name)}; {right}")


def check_score(where: str, task: str, number: str) -> None:
    """`UserError` if there is no such task, or it has no such number."""
    check_name(where, "task", task, TASKS)
    check_name(where, f"number of {task}", number, TASKS[task].numbers)


def development_number(where: str, tasks: Iterable[str]) -> str:
    """The development number that these tasks have; `UserError` where it is not one and the same."""
    for task in tasks:
        check_name(where, "task", task, TASKS)
    numbers = {TASKS[task].development for task in tasks}
    if len(numbers) != 1 or numbers == {""}:
        raise UserError(f"{where}: {', '.join(tasks)} have no development number in common; name one")
    return numbers.pop()


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """`UserError` if a name comes twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UserError(f"{what} {', '.join(map(shown, twice))}")
