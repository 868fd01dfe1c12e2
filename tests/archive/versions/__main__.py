"""`python -m tests.archive.versions`: keep a results folder of this version."""

from tests.archive.versions import make

print(make())
