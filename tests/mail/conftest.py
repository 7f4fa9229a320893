"""A certificate that a test makes for itself, and both event loops that mails are sent on."""

import pytest

from tests.support.certificates import Certificate, certificate_for


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Mails are sent on the loop of the tests and on that of the service, whose sockets fail in other ways."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """One for this machine's own address alone."""
    return certificate_for("127.0.0.1", "IP:127.0.0.1", tmp_path_factory.mktemp("certificate"))
