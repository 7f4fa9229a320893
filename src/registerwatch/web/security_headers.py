"""Headers that every answer has, whatever it is about."""

from registerwatch.settings import Settings

NOSNIFF = ("X-Content-Type-Options", "nosniff")
"""No browser takes JSON, a feed or a metric for a page."""
HTTPS_ONLY = ("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
"""For a year browsers use https alone, for names below this one too: else a cookie could be planted from there."""
POLICY = "Content-Security-Policy"
NOTHING_ALLOWED = (POLICY, "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
"""For every answer without a policy of its own, which pages have: it runs nothing, loads nothing and is not framed."""


def security_headers(settings: Settings) -> dict[str, str]:
    """Headers of every answer. Where people use https, they are to use nothing else."""
    return dict((NOSNIFF, HTTPS_ONLY) if settings.public_url.startswith("https://") else (NOSNIFF,))
