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
    param: str | None = None

    @classmethod
    def of_parameter(cls, param: str, message: str, code: str | None = None) -> "ApiError":
        """A parameter that cannot be."""
        return cls(400, message, code=code, param=param)

    @classmethod
    def missing(cls, noun: str, id_: str, param: str = "id", status: int = 404) -> "ApiError":
        """Something that is not there; 400 where it was not the address that named it."""
        return cls(status, f"No such {noun}: '{id_}'", code="resource_missing", param=param)

    def body(self) -> dict[str, Any]:
        """The answer's body."""
        error = {"code": self.code, "message": self.message, "param": self.param, "type": self.kind}
        return {"error": {name: value for name, value in error.items() if value is not None}}
