"""The next page after signing in, which is always of this site."""

from urllib.parse import urlencode, urlsplit

from starlette.requests import Request

HOME = "/app"
MAX_LENGTH = 2_000


def safe_address(text: str) -> str:
    """The path and query of an address of this site, else empty."""
    if not text.startswith("/") or text.startswith(("//", "/\\")) or len(text) > MAX_LENGTH:
        return ""
    if any(ord(character) < 33 or character == "\\" or character == "\x7f" for character in text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return "" if parts.scheme or parts.netloc else text


def sign_in_address(request: Request) -> str:
    """The address for signing in, which leads back to the requested page."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    wanted = safe_address(address)
    return "/login" + (f"?{urlencode({'next': wanted})}" if wanted and wanted != HOME else "")
