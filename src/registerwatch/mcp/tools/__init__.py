"""The tools, in the order in which they are listed."""

from registerwatch.mcp.tools import register, watches
from registerwatch.mcp.tools.registry import Tool

TOOLS: tuple[Tool, ...] = (
    register.search_devices,
    register.lookup_udi,
    register.get_device,
    register.get_actor,
    watches.list_watches,
    watches.add_watch,
    watches.sync_watches,
    watches.list_changes,
)
