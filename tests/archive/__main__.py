"""`python -m tests.archive`: write the expected reports anew."""

from tests.archive import REPORTS, rebuild

rebuild()
print(REPORTS)
