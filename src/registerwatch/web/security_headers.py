"""Headers of every answer."""

from registerwatch.settings import Settings

NOSNIFF = ("X-Content-Type-Options", "nosniff")
"""Browsers do not take JSON, a feed or a metric for a page."""
HTTPS_ONLY = ("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
"""For a year browsers use https alone, for subdomains too: else a cookie could be planted from there."""
POLICY = "Content-Security-Policy"
NOTHING_ALLOWED = (POLICY, "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
"""The policy of answers without their own, which pages have: it runs nothing, loads nothing and is not framed."""

RESOURCE_POLICY = "Cross-Origin-Resource-Policy"
ANY_SITE, THIS_SITE = "cross-origin", "same-origin"
"""Sites whose pages may load an answer as an image, a script or the like: public answers, and all others."""
OPENER = ("Cross-Origin-Opener-Policy", "same-origin")
"""A page of another site that opens one of ours in a window has no access to it."""
PERMISSIONS = "Permissions-Policy"
_DENIED = (
    *("accelerometer", "autoplay", "display-capture", "encrypted-media", "fullscreen", "geolocation", "gyroscope"),
    *("hid", "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment", "picture-in-picture"),
    *("screen-wake-lock", "serial", "usb", "xr-spatial-tracking"),
)
"""Features that browsers allow unless they are denied, and that our pages do not use."""
NO_CAMERA = (PERMISSIONS, ", ".join(f"{name}=()" for name in ("camera", *_DENIED)))
WITH_CAMERA = (PERMISSIONS, ", ".join(("camera=(self)", *(f"{name}=()" for name in _DENIED))))
"""Header of the label scan page."""


def security_headers(settings: Settings) -> dict[str, str]:
    """Headers of every answer. Where https is used, browsers are to use nothing else."""
    return dict((NOSNIFF, HTTPS_ONLY) if settings.public_url.startswith("https://") else (NOSNIFF,))
