"""Embeds SVG pictures in a page whose policy forbids style attributes and scripts."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as Tree

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_SHAPES = frozenset(
    {"svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use"}
    | {"image", "clipPath", "marker", "pattern", "linearGradient", "radialGradient", "stop"}
)
"""SVG elements that a picture may have; all others are removed."""
_REFERENCE = re.compile(r"url\(#([\w.:-]+)\)")
_JOINTS = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
"""SVG attributes for all shapes, in place of the same settings in the style element of every picture."""


def inline(path: Path, title: str, number: int) -> str:
    """Return the picture as `<svg role="img">` with this title. `number` makes its ids unique within the page. Return
    an empty text if the file is missing or is no SVG."""
    try:
        picture = Tree.fromstring(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Tree.ParseError):
        return ""
    if picture.tag != f"{_SVG}svg":
        return ""
    _clean(picture, f"picture{number}-")
    for name, value in (_JOINTS | {"role": "img", "aria-label": title}).items():
        picture.set(name, value)
    heading = Tree.Element(f"{_SVG}title")
    heading.text = title
    picture.insert(0, heading)
    Tree.register_namespace("", _SVG.strip("{}"))
    return Tree.tostring(picture, encoding="unicode")


def _clean(element: Tree.Element, prefix: str) -> None:
    """Turn styles into attributes, add the prefix to ids, and remove elements outside `_SHAPES`."""
    for child in list(element):
        if str(child.tag).removeprefix(_SVG) in _SHAPES:
            _clean(child, prefix)
        else:
            element.remove(child)
    attributes = dict(element.attrib)
    for declaration in attributes.pop("style", "").split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            attributes[name.strip()] = value.strip()
    link = attributes.pop(_LINK, attributes.pop("href", ""))
    if link.startswith("#"):
        attributes["href"] = f"#{prefix}{link[1:]}"
    elif link.startswith("data:image/png;base64,"):
        attributes["href"] = link
    if "id" in attributes:
        attributes["id"] = prefix + attributes["id"]
    element.attrib.clear()
    for name, value in attributes.items():
        if not name.startswith(("on", "{")):
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}\1)", value))
