"""What mails say. Lines are shorter than 78 signs, but for links, which are never wrapped."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from registerwatch.mail.mailer import Mail


def password_reset(to: str, link: str, service: str, minutes: int) -> Mail:
    """A link that sets a new password. `service` is the name or the address that people know the service by."""
    text = _environment().get_template("password_reset.txt").render(link=link, service=service, lasts=_span(minutes))
    return Mail(to, f"Set a new password at {service}", text)


def _span(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if rest or not hours:
        return f"{minutes} minutes"
    return "an hour" if hours == 1 else f"{hours} hours"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("registerwatch.mail"),
        autoescape=False,  # noqa: S701  # plain text, in which escapes would be read as they are
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        auto_reload=False,
    )
