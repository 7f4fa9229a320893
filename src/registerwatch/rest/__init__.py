"""The REST surface: routes that parse, call one use case, and render."""
