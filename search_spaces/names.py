"""Checks of names that refer to something: an unknown name, or a name used twice, is a `UserError`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trainables.errors import UserError, choices, did_you_mean, shown
from trainables.senteval.tasks import TASKS


def check_name(where: str, noun: str, name: str, names: Iterable[str]) -> None:
    """Raise `UserError` with the nearest name, or all names, if `name` is not in `names`. `noun`: the kind of thing
    that is named, such as `goal`."""
    options = list(names)
    if name in options:
        return
    right = did_you_mean(name, options).rstrip() or f"there is {choices(map(repr, options)) if options else 'none'}"
    raise UserError(f"{where}: no {noun} is called {shown(name)}; {right}")


def check_score(where: str, task: str, number: str) -> None:
    """Raise `UserError` if there is no task of that name, or if it has no number named `number`."""
    check_name(where, "task", task, TASKS)
    check_name(where, f"number of {task}", number, TASKS[task].numbers)


def development_number(where: str, tasks: Iterable[str]) -> str:
    """Return the name of these tasks' common development number; `UserError` if they have none in common."""
    for task in tasks:
        check_name(where, "task", task, TASKS)
    numbers = {TASKS[task].development for task in tasks}
    if len(numbers) != 1 or numbers == {""}:
        raise UserError(f"{where}: {', '.join(tasks)} have no development number in common; name one")
    return numbers.pop()


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Raise `UserError` if a name occurs twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UserError(f"{what} {', '.join(map(shown, twice))}")
