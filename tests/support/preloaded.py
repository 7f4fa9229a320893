"""What the process has loaded that those of `tests.support.forked` are forked from."""

import gc
from importlib import import_module

MODULES = (
    "registerwatch.cli",
    "registerwatch.commands.demo_run",
    "registerwatch.db.postgresql",
    "registerwatch.web.rate_limit_redis",
    "registerwatch_standins.payment.app",
    "tests.journeys.crash_loop",
)
"""With what each of them loads, all that a process of the product loads while it starts."""

gc.disable()  # looking for garbage is a fifth of the time
for each in MODULES:
    import_module(each)
gc.freeze()  # else the first collection of each process writes to every page that all share
gc.enable()
