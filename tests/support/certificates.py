"""Certificates that sign themselves, for servers of tests."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for one host alone."""

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


def certificate_for(host: str, alternative_name: str, folder: Path) -> Certificate:
    """Made by openssl's command, as Python makes none. `alternative_name` is such as `DNS:a.example`."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    name = ["-subj", f"/CN={host}", "-addext", f"subjectAltName={alternative_name}"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(made.key)]
    command = ["openssl", "req", "-x509", *key, "-days", "2", *name, "-out", str(made.path)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return made
