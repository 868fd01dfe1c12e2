from reports.facts.guards import GUARDS, Flag, Guard
from reports.words.guards import rows_in_words

LONGEST = 3600


def find(results):
    """Recipes with a trial of more than an hour."""
    seconds = {key: max(one.cost.get("seconds", 0) for one in own) for key, own in results.recipes.items()}
    slow = frozenset(key for key in seconds if seconds[key] > LONGEST)
    facts = {"hours": max(seconds.values()) / 3600}
    return [Flag("slow", "hours", slow, facts=facts, blocks=False)] if slow else []


def words(results, flag):
    """Its flag in a sentence."""
    return f"a trial took {flag.facts['hours']:.1f} hours, of {rows_in_words(results, flag.recipes)}"


GUARDS.add(Guard("slow", "how long trials took", find, words))
