"""Commands whose modules are loaded when they are used, but not to list them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from registerwatch.platform.collector import paused_collector


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The location of a command, and its line in the list of commands."""

    module: str
    """A module of this package."""
    line: str
    function: str = "app"
    """The name in the module of the command's function, or of the `Typer` of a group of commands."""


class LazyCommand(TyperCommand):
    """An entry in the list of commands for one that is not loaded."""

    def __init__(self, name: str, source: CommandSource) -> None:
        super().__init__(name, help=source.line)
        self._source = source

    def load(self) -> TyperCommand | TyperGroup:
        """The command itself; its module is imported."""
        assert self.name is not None
        found = getattr(_loaded(f"{__package__}.{self._source.module}"), self._source.function)
        holder = typer.Typer(pretty_exceptions_enable=False)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=self.name, help=self._source.line)
        else:
            holder.command(self.name)(found)
        return typer.main.get_group(holder).commands[self.name]  # type: ignore[return-value]  # Typer makes no others

    def make_context(self, *given: Any, **options: Any) -> typer.Context:
        """Load the command and make its context. Running, help and completion begin here and use that command."""
        return self.load().make_context(*given, **options)  # type: ignore[return-value]  # the base is annotated with


def _loaded(module: str) -> ModuleType:
    if module not in sys.modules:
        with paused_collector():
            import_module(module)
    return sys.modules[module]


class LazyGroup(TyperGroup):
    """A group of commands by their sources, in the order in which they are listed."""

    sources: ClassVar[Mapping[str, CommandSource]]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, source in self.sources.items():
            self.add_command(LazyCommand(name, source))
