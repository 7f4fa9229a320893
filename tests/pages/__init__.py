"""The pages."""  # named as the harness that it mirrors; never imported as `html`
