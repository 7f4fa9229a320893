"""A report to the operator on how this machine confines processes that read files of users."""

import structlog

from registerwatch.platform.process_confinement import LANDLOCK, SECCOMP, hide_memory, means

WHO = "Processes that read files and photos of users"
WHOLE = f"{WHO} can open no file and no connection, and start nothing"
IN_PART = f"{WHO} can open no file and no TCP connection (Landlock); without seccomp they could start processes."
NOT = (
    f"{WHO} are bounded but not confined, because this kernel has neither seccomp for this machine nor Landlock: one "
    "that is made to run foreign code could open what the service's user can. See docs/security.md."
)

log = structlog.get_logger(__name__)


def protect_this_process() -> None:
    """Hide this process from others of its user, and log a warning if processes that it starts are not confined."""
    hide_memory()
    if SECCOMP not in means():
        log.warning(confinement())


def confinement() -> str:
    """How processes that read files of users are confined here, in a sentence."""
    found = means()
    if SECCOMP in found:
        return f"{WHOLE} ({' and '.join(found)})."
    return IN_PART if LANDLOCK in found else NOT
