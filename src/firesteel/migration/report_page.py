"""The report of all programs below a directory as an HTML page."""

from __future__ import annotations

import html
from importlib import resources
from string import Template

from firesteel.migration.findings import Kind
from firesteel.migration.repository_check import CheckedProgram, RepositoryReport

__all__ = ["report_page"]


def report_page(report: RepositoryReport) -> str:
    """Return a page with the verdict of each program, its findings, and what stops most programs; needs no network."""
    counts = [f"<li class='{_class(verdict)}'><b>{n}</b> {verdict}</li>" for verdict, n in report.counts().items()]
    causes = [f"<tr><td>{n}</td><td>{html.escape(cause)}</td></tr>" for cause, n in report.common_causes()]
    template = Template(resources.files("firesteel.migration").joinpath("report.html").read_text("utf-8"))
    return template.substitute(
        directory=html.escape(str(report.directory)),
        counts="".join(counts),
        causes="".join(causes) or "<tr><td></td><td>nothing</td></tr>",
        programs="".join(_program_row(one) for one in report.programs),
    )


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _program_row(program: CheckedProgram) -> str:
    sections = [f"<p>{html.escape(program.error)}</p>"] if program.error else []
    for kind in Kind if program.report is not None else ():
        assert program.report is not None
        if found := program.report.of_kind(kind):
            lines = "".join(
                f"<tr><td>{one.line or ''}</td><td>{html.escape(one.name)}</td><td>{html.escape(one.advice)}</td></tr>"
                for one in found
            )
            sections.append(f"<h3>{kind.value}</h3><table>{lines}</table>")
    body = "".join(sections) or "<p>nothing to say</p>"
    head = f"<span class='verdict {_class(program.verdict)}'>{program.verdict}</span>"
    title = f"{head} <code>{html.escape(str(program.path))}</code> <small>{program.jobs}</small>"
    return f"<details><summary>{title}</summary>{body}</details>"
