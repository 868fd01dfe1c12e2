"""What follows from a study's records: figures, comparisons, flags, the answer. Numbers and kinds; no sentence is made
here (`reports/words` makes them).

from reports.facts.results import Results      # what a folder holds
from reports.facts.answer import Answer        # what follows from it
"""
