"""Names of the languages in which trade names are registered."""

NAMES = {
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "hr": "Croatian",
    "hu": "Hungarian",
    "is": "Icelandic",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mt": "Maltese",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "tr": "Turkish",
}
ALL_LANGUAGES = "All languages"


def language_name(code: str) -> str:
    """The English name of a language, or its code if it is not known; the empty code stands for all."""
    return NAMES.get(code.lower(), code) if code else ALL_LANGUAGES


def language_tag(code: str) -> str:
    """The value of a `lang` attribute, empty if the code does not name a language."""
    return code.lower() if code.isascii() and code.isalpha() and len(code) in (2, 3) else ""
