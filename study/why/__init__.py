"""`--why RESULTS`: possible reasons for a small gain, the most likely first, each with evidence and a command.

Looks are checks that train nothing: of rows, test and encoder (`looks.py`). Tries train with a single change on a part
of the data, and are judged by development items (`tries.py`). Both return `Cause`s; `words.py` describes these.
"""
