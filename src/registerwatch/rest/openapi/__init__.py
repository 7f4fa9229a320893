"""How `/openapi.json` describes routes."""
