"""What a search may still gain, and when it has found enough.

`--until 0.5` ends it once a further gain of more than 0.5 is improbable.

What may still be gained is asked of the Gaussian process that `--sampler gp` chooses by, whatever sampler the study
has: draws of it, without a seed's noise, of the likeliest recipes beside all that ran.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.study import StudyDirection

from reports.markdown import count
from study.cli.terminal import say
from study.search.ask_tell import AskTell

LEAST, EVERY = 10, 5
"""Recipes after which it is asked first, and then anew."""
IMPROBABLE = 0.05
"""Chance of a further gain below which a search ends."""
SAID = 0.5
"""Points of a gain whose chance is said where nobody asks for an end."""
MOST_SAID = 100
"""Recipes after which that is no longer said: what it takes grows with their cube."""
ENDED = "until"
"""User attribute of the study: by which gain it ended."""


def chances(ask_tell: AskTell, gains: Sequence[float]) -> list[float] | None:
    """How likely some other recipe surpasses the best one so far by more than each of these gains, in the goal's unit.
    The same again for the same trials. None while too few have finished."""
    from study.search.gaussian_process import GaussianProcessSampler  # SciPy, for which no first trial shall wait

    sampler = GaussianProcessSampler(len(ask_tell.study.get_trials(deepcopy=False)))
    sampler.bind(ask_tell.domains, ask_tell.flat)
    found = sampler.gains(ask_tell.study)
    return [float(np.mean(found > gain)) for gain in gains] if len(found) else None


def has_ended(ask_tell: AskTell, gain: float | None) -> bool:
    """Whether the search ended already by this gain, or by a smaller one; never without one."""
    ended = ask_tell.study.user_attrs.get(ENDED)
    return gain is not None and ended is not None and float(ended) <= gain


def enough(ask_tell: AskTell, recipes: int, gain: float | None) -> bool:
    """Whether the search ends here, after so many recipes, which the journal keeps; never without a gain. Says after
    every tenth recipe, and at the end, what may still be gained: of one goal that is a score, or with a gain."""
    if recipes < LEAST or recipes % (10 if gain is None else EVERY):
        return False
    if gain is None and (recipes > MOST_SAID or ask_tell.study.directions != [StudyDirection.MAXIMIZE]):
        return False
    found = chances(ask_tell, [gain or SAID])
    if found is None:
        return False
    ends = gain is not None and found[0] < IMPROBABLE
    if ends or recipes % 10 == 0:
        say(f"after {count(recipes, 'recipe')} {in_words(gain or SAID, found[0])}{': the search ends' if ends else ''}")
    if ends:
        ask_tell.study.set_user_attr(ENDED, gain)
    return ends


def in_words(gain: float, chance: float) -> str:
    """`a further gain above 0.5 is about 12 % likely`."""
    likely = f"about {100 * chance:.0f}" if chance >= 0.01 else "less than 1"
    return f"a further gain above {gain:g} is {likely} % likely"
