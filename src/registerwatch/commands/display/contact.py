"""The warning of commands that read the register without a contact address for its operators."""

import structlog

from registerwatch.settings import Settings

NO_CONTACT = "set REGISTERWATCH_CONTACT to an address at which the register's operators can reach you"

log = structlog.get_logger(__name__)


def warn_without_contact(settings: Settings) -> None:
    """Log a warning if the real register is read without a contact address for its operators."""
    if settings.reads_real_register and not settings.contact:
        log.warning(NO_CONTACT)
