"""`--why RESULTS`: possible reasons for a small gain, the most likely first, each with evidence and a command.

Looks read rows, test and encoder, and train nothing (`looks.py`). Tries train with a single change on a part of the
data, and are judged by development items (`tries.py`). Both return `Cause`s; `words.py` makes sentences of them.
"""
