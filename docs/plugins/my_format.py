from reports.formats import FORMATS, Format
from reports.formats.parsed import parse, plain
from trainables.files import write_whole


def write(document, path):
    """The words alone, without any marks."""
    tokens = [token for part in document.parts for token in parse(part.content)]
    write_whole(path, "\n".join(plain(token) for token in tokens if token.type == "inline") + "\n")


FORMATS.add(Format("text", "report.txt", write))
