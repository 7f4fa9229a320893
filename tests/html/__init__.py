"""The pages."""  # noqa: A005  # named as the room that it mirrors; never imported as `html`
