"""Blocking work runs in a pool of its purpose: asyncio's own pool serves names of hosts and log files only."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "firesteel"
SERVERS = ("runtime", "rest", "gateway", "spark", "entrypoint", "coordinator")


def _uses(path: Path) -> int:
    def is_use(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        name = ast.unparse(node.func)
        takes_default = name.endswith("run_in_executor") and ast.unparse(node.args[0]) == "None"
        return name.endswith("to_thread") or takes_default

    return sum(map(is_use, ast.walk(ast.parse(path.read_text()))))


def test_servers_do_not_use_the_common_pool() -> None:
    files = [path for package in SERVERS for path in sorted((SOURCE / package).rglob("*.py"))]
    assert {str(path.relative_to(SOURCE)): n for path in files if (n := _uses(path))} == {}
