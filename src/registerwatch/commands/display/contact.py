"""Whom the register's operators can reach: what commands that read the register warn of."""

import structlog

from registerwatch.settings import Settings

NO_CONTACT = "set REGISTERWATCH_CONTACT to an address at which the register's operators can reach you"

log = structlog.get_logger(__name__)


def warn_without_contact(settings: Settings) -> None:
    """Log a warning where the real register is read, and its operators are not told whom to write to."""
    if settings.reads_real_register and not settings.contact:
        log.warning(NO_CONTACT)
