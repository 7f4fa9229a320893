"""A certificate of a made-up host, which signs itself."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HOST = "hooks.example.org"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for `HOST` alone."""

    path: Path
    key: Path

    def shown(self) -> ssl.SSLContext:
        """What a server uses to prove itself by it."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.path, self.key)
        return context

    def trusted(self) -> ssl.SSLContext:
        """What a client uses to trust it and no other."""
        return ssl.create_default_context(cafile=str(self.path))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Made by openssl's command, as Python makes none."""
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    name = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(made.key)]
    command = ["openssl", "req", "-x509", *key, "-days", "2", *name, "-out", str(made.path)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return made
