"""Hooks of MkDocs: pages from outside docs/, links to them, and generated tables.

Links in the Markdown files are relative to the repository, so that they also work where the files are read as they
are. `on_page_markdown` turns those that leave `docs/` into links to the copies that `on_files` puts into the site.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from docs.generate.options import options_table, options_without_counterpart, refused_options  # noqa: E402
from docs.generate.rest import rest_reference  # noqa: E402

GENERATED = {
    "options": options_table,
    "refused_options": refused_options,
    "options_without_counterpart": options_without_counterpart,
    "rest": rest_reference,
}
"""Tables that take the place of lines `<!-- generated: NAME -->`."""

_MARKER = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def copied_files() -> dict[str, str]:
    """Return where the site has files from outside docs/: place in the site by place in the repository."""
    copies = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        copies[path.relative_to(ROOT).as_posix()] = f"results/{path.name}"
    for path in sorted((ROOT / "examples").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        copies[place] = place
    return copies


DIRECTORIES = {
    "README.md": "index.md",
    "docs/decisions": "decisions/index.md",
    "benchmarks/results": "results/README.md",
    "examples": "tutorials/index.md",
}
"""Pages of the site that stand for other places in the repository."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files from outside docs/."""
    for source, place in copied_files().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in generated tables, and point links into the site."""
    markdown = _MARKER.sub(lambda match: GENERATED[match[1]](), markdown)
    return with_links_into_the_site(markdown, page.file.src_uri, copied_files())


def with_links_into_the_site(markdown: str, page: str, copies: Mapping[str, str]) -> str:
    """Return the text of a page with its links to files of the repository turned into links to pages."""
    sources = {place: source for source, place in copies.items()}
    here = posixpath.dirname(sources.get(page, f"docs/{page}"))

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        in_repository = posixpath.normpath(posixpath.join(here, target))
        place: Any = copies.get(in_repository) or DIRECTORIES.get(in_repository)
        if place is None:
            if not in_repository.startswith("docs/"):
                return match[0]
            place = in_repository.removeprefix("docs/")
        return posixpath.relpath(place, posixpath.dirname(page) or ".") + anchor

    parts = _CODE.split(markdown)
    return "".join(part if index % 2 else _LINK.sub(link, part) for index, part in enumerate(parts))
