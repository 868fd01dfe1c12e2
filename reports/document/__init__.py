"""What a report is made of, before it has a form: typed blocks, in sections.

    from reports.document import Bullets, DataTable
    [DataTable(["Row", "mean"], [["`a`", "66.06"]]), Bullets(["first", "second"])]

A paragraph is a string. Words of all blocks are inline markdown: emphasis, code and links; `reports.markdown` makes it.
"""

from reports.document.blocks import (
    Block,
    Bullets,
    CodeBlock,
    DataTable,
    Heading,
    Picture,
    SideBySide,
    WrittenSection,
    markdown,
)

__all__ = [
    "Block",
    "Bullets",
    "CodeBlock",
    "DataTable",
    "Heading",
    "Picture",
    "SideBySide",
    "WrittenSection",
    "markdown",
]
