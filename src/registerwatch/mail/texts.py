"""The texts of mails. Lines have fewer than 78 characters, except for links, which are never wrapped."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from registerwatch.mail.mailer import Mail


def password_reset(to: str, link: str, service: str, minutes: int) -> Mail:
    """A mail with a link that sets a new password. `service` is the public URL of the service."""
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
        autoescape=False,  # noqa: S701  # plain text: escapes would be visible
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        auto_reload=False,
    )
