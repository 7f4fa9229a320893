"""The way of a request to its route: caller, parameters, body, errors."""
