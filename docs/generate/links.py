"""Checks that all links, pictures and anchors of the built site exist, and that pages load nothing from elsewhere.

    python -m docs.generate.links site

MkDocs itself accepts links to files that it leaves out of the site.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

__all__ = ["problems"]

_TARGET = re.compile(r'\b(?:href|src)="([^"]+)"')
_LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="((?:https?:)?//[^"]+)"|<link[^>]*\shref="((?:https?:)?//[^"]+)"'
)
_ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')


def problems(site: Path) -> list[str]:
    """Return what is wrong with the pages below a directory."""
    pages = {path.resolve(): path.read_text() for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    anchors = {path: set(_ANCHOR.findall(text)) for path, text in pages.items()}
    found = []
    for path, text in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name} loads {one or other}" for one, other in _LOADED.findall(text)]
        for link in sorted(set(_TARGET.findall(text))):
            if re.match(r"[a-z]+:|//", link):
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in anchors and unquote(anchor) not in anchors[target]):
                found.append(f"{name} links to {link}, which does not exist")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)
