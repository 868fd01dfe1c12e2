from reports.document import markdown
from reports.document.inline import plain
from reports.formats import FORMATS, Format
from trainables.files import write_whole


def write(document, path):
    """The report without marks of emphasis and code."""
    write_whole(path, "\n\n".join(plain(markdown(section.blocks)) for section in document.sections) + "\n")


FORMATS.add(Format("text", "report.txt", write))
