"""What Stripe answers when it refuses."""

from dataclasses import dataclass
from typing import Any


@dataclass
class ApiError(Exception):
    """An error in Stripe's form. `kind` is the error's `type`."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None

    @classmethod
    def missing(cls, noun: str, id_: str, status: int = 404) -> "ApiError":
        """Something that is not there; 400 where it was not the address that named it."""
        return cls(status, f"No such {noun}: '{id_}'", code="resource_missing")

    def body(self) -> dict[str, Any]:
        """The answer's body."""
        error = {"code": self.code, "message": self.message, "type": self.kind}
        return {"error": {name: value for name, value in error.items() if value is not None}}
