"""`firesteel completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in a shell.

    Lines for the file that a shell reads when it starts:

    \b
    ~/.bashrc                   eval "$(firesteel completion bash)"
    ~/.zshrc                    eval "$(firesteel completion zsh)"
    ~/.config/fish/config.fish  firesteel completion fish | source
    """  # noqa: D301  click takes the character itself for "do not wrap"
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(context.find_root().command, {}, "firesteel", "_FIRESTEEL_COMPLETE").source()
    # Each line that fish reads is a type, a comma and the rest, which may have commas itself.
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))
