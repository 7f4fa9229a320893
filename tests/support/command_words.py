"""Every command that can be typed."""

from typer.core import TyperCommand, TyperGroup

from registerwatch.cli import Commands
from registerwatch.commands.lazy import LazyCommand


def loaded_commands() -> dict[str, TyperCommand | TyperGroup]:
    """Every command and every group of commands by its name, with its module."""
    return {name: LazyCommand(name, source).load() for name, source in Commands.sources.items()}


def command_words() -> list[list[str]]:
    """Every command, by its words: `copy`, `fill`."""
    found: list[list[str]] = []
    for name, command in loaded_commands().items():
        found += [[name, inner] for inner in command.commands] if isinstance(command, TyperGroup) else [[name]]
    return found
