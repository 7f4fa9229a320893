"""Make sure that the programs which the tests start are there: PostgreSQL, Redis, openssl, Chromium, Node.js,
Java.

Where we are root on a Debian-like system they are installed; elsewhere a message says what is missing, and the tests
that need it say so too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = {
    "postgresql": lambda: any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb"),
    "redis-server": lambda: shutil.which("redis-server") or shutil.which("valkey-server"),
    "openssl": lambda: shutil.which("openssl"),
    "chromium": lambda: shutil.which("chromium"),
    "wrk": lambda: shutil.which("wrk"),
    "nodejs": lambda: shutil.which("node"),
    "npm": lambda: shutil.which("npm"),
    "default-jre-headless": lambda: shutil.which("java"),
}


def main() -> None:
    """Install what is missing, or say what is."""
    missing = [package for package, is_there in NEEDED.items() if not is_there()]
    if not missing:
        return
    wanted = "apt-get install -y " + " ".join(missing)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print(f"Not installed: {', '.join(missing)}. Tests that need them fail or are skipped. Install: {wanted}")
        return
    print(f"Installing {', '.join(missing)} …", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing])
    for command in commands:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            print(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}", file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
