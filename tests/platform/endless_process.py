"""Processes that never end by themselves, whatever the content."""

from typing import Never

from registerwatch.platform.bounded_process import ProcessBounds, answer_contents

BOUNDS = ProcessBounds(cpu_seconds=60, wall_seconds=60, memory_bytes=1024**3)


def _endless(_content: bytes) -> Never:
    while True:
        pass


if __name__ == "__main__":
    answer_contents(lambda: _endless, BOUNDS)
