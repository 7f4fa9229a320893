"""`replace` gives a copy of a struct with other values, as msgspec's does.

Type checkers see `dataclasses.replace`, with which they check the names and types of the replaced values.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["replace"]
