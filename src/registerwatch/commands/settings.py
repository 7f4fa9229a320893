"""`registerwatch settings`: the list of settings."""

from collections.abc import Mapping

from pydantic import SecretStr
from rich.console import Console
from rich.padding import Padding

from registerwatch.commands.display.confinement import confinement
from registerwatch.settings import Settings, load_settings, unknown_variables, variable_name


def show() -> None:
    """List every setting with its value here and what it means. Secrets are masked."""
    settings = load_settings()
    console = Console(highlight=False)
    for name, field in Settings.model_fields.items():
        console.print(f"[bold]{variable_name(name)}[/bold] = {shown(getattr(settings, name))}", soft_wrap=True)
        console.print(Padding(field.description or "", (0, 0, 1, 4)))
    console.print("Each can be given as a file instead, by the same name with _FILE at its end.")
    console.print(confinement(), soft_wrap=True)
    for name in unknown_variables():
        console.print(f"There is no setting {name}; it has no effect.", style="yellow")


def shown(value: object) -> str:
    """A value for display: secrets masked, an empty value as a dash."""
    if isinstance(value, SecretStr):
        return "********"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each}" for name, each in value.items()) or "-"
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value) or "-"
    return "-" if value in (None, "") else str(value)
