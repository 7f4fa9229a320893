"""A certificate of a made-up host."""

import pytest

from tests.support.certificates import Certificate, certificate_for

HOST = "hooks.example.org"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """One for `HOST` alone."""
    return certificate_for(HOST, f"DNS:{HOST}", tmp_path_factory.mktemp("certificate"))
