"""`replace` gives a copy of a struct with other values, as msgspec's does.

Type checkers see the one of dataclasses, by which they check the names and types of what is replaced.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["replace"]
