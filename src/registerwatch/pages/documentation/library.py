"""The pages of `docs/` for users of the service, and the location of their files."""

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

import registerwatch

PATH = "/docs"
API_PATH = "/docs/api"
TRIED_AT = "http://localhost:8000"
"""The service's address in the examples of `docs/`; pages show the real one."""


class Topic(msgspec.Struct, frozen=True):
    """A page of `docs/`: its file's name without `.md`, its title, a sentence about it."""

    name: str
    title: str
    about: str

    @property
    def address(self) -> str:
        """`/docs/webhooks`."""
        return f"{PATH}/{self.name}"


TOPICS = (
    Topic(
        "watching", "Watching", "Find, watch, be told: what is compared, what is reported, and the register’s words."
    ),
    Topic("accounts", "Accounts", "Proven addresses, members, keys and their scopes, sessions, passwords."),
    Topic(
        "answers", "What answers say", "How “there is none”, “nobody has looked” and “could not look” are told apart."
    ),
    Topic(
        "events", "Events and feeds", "What makes an event, kinds and severities, every event once, feeds, calendars."
    ),
    Topic("codes", "Codes", "Bar codes, GTINs and other codes: what is read, and how a code is understood."),
    Topic("scanning", "Scanning labels", "Hand scanners, photos, the live camera: what is read, and what is kept."),
    Topic(
        "lists", "Lists", "Your own files of articles, matched with the copy: how to send one, what each result means."
    ),
    Topic(
        "standing", "How something stands", "Market status and certificates in words, the worst first; the two dates."
    ),
    Topic("channels", "Channels", "E-mail, chats and programs: what each is told, and when; pauses, and what fails."),
    Topic("webhooks", "Webhooks", "What is posted to your address, how to verify it, what to answer."),
    Topic("notifications", "Mails", "What is mailed to whom and when, what a mail says, how to end them."),
    Topic("chat", "Slack, Teams and other chats", "How to make the address in each chat, and what is posted there."),
    Topic("mcp", "AI assistants", "Connecting an assistant by the Model Context Protocol (MCP), and its tools."),
    Topic("errors", "Errors", "The one shape of errors, with all codes."),
)
"""The shown pages. Those for operators and developers are left out, since they have the files."""

BY_NAME: Mapping[str, Topic] = {topic.name: topic for topic in TOPICS}

_MARKDOWN_LINK = re.compile(r"(?:\./)?(\w+)\.md(#.*)?")


def text_of(topic: Topic) -> str:
    """The Markdown of a page."""
    return (_folder() / f"{topic.name}.md").read_text(encoding="utf-8")


def address_of(href: str) -> str | None:
    """The address of a link in `docs/`: another page, a heading, the web; None for files of the repository."""
    if href.startswith(("https://", "#")):
        return href
    match = _MARKDOWN_LINK.fullmatch(href)
    if match is None or match[1] not in BY_NAME:
        return None
    return f"{PATH}/{match[1]}{match[2] or ''}"


def _folder() -> Traversable:
    """The folder of the files: within an installed package; beside `src` in a checkout, as of editable installs."""
    packaged = files(registerwatch) / "docs"
    return packaged if packaged.is_dir() else Path(registerwatch.__file__).parents[2] / "docs"
