"""The pages."""  # named as the room that it mirrors; never imported as `html`
