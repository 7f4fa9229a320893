"""A certified OpenID provider, `oidc-provider` of npm, that a test starts and signs in at."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.support.node import installed, program

PINS = Path(__file__).parent / "node"
CLIENT_ID, CLIENT_SECRET = "registerwatch", "a secret: of a test"  # made up
BACK = "http://localhost:8000/login/oidc/back"


@dataclass(frozen=True, slots=True)
class OpenIdProvider:
    """Where it is. Whoever signs in is known by a name: see `node/provider.mjs`."""

    issuer: str

    async def sign_in(self, address: str, name: str) -> dict[str, str]:
        """What a browser comes back with after somebody has signed in."""
        async with httpx2.AsyncClient() as browser:
            asked = await browser.get(address)
            for _ in range(5):
                location = asked.headers["location"]
                if location.startswith(BACK):
                    return {key: values[0] for key, values in parse_qs(urlsplit(location).query).items()}
                is_form = "/interaction/" in location
                target = httpx2.URL(self.issuer).join(location)
                asked = await browser.get(target, params={"as": name} if is_form else None)
        raise AssertionError(asked.text)


@contextmanager
def openid_provider(folder: Path) -> Iterator[OpenIdProvider]:
    """One for the length of the block; the test is skipped where Node or the package is out of reach."""
    packages = installed(PINS)
    script = folder / "provider.mjs"
    shutil.copyfile(PINS / "provider.mjs", script)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    command = [program("node"), str(script), BACK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield OpenIdProvider(process.stdout.readline().strip())
        finally:
            process.terminate()
