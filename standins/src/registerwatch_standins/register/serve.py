"""Serving the stand-in over HTTP."""

from pathlib import Path

import uvicorn

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.world import World


def open_world(records: Path | None, devices: int, seed: int) -> World:
    """The world over a file of records, or without a file a generated one."""
    return FileWorld(records) if records else GeneratedWorld(devices, seed)


def serve(
    *,
    records: Path | None = None,
    devices: int = 20_000,
    seed: int = 1,
    host: str = "127.0.0.1",
    port: int = 8100,
    changes_per_minute: float = 0,
) -> None:
    """Serve until interrupted: `http://host:port/eudamed`, `/datalake`, and `/_control` to steer it."""
    app = create_app(open_world(records, devices, seed), changes_per_minute=changes_per_minute, seed=seed)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
