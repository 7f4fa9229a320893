"""What descriptions of bodies share."""

from typing import Any

from pydantic import BaseModel, ConfigDict

NO_FIELDS: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
}
"""For the description of a POST that needs a body, `{}`, and reads nothing of it."""
Instant: Any = {"examples": ["2026-11-28T03:38:00Z"]}


class Request(BaseModel):
    """A body. Fields that are not named here are left aside."""

    model_config = ConfigDict(hide_input_in_errors=True)
