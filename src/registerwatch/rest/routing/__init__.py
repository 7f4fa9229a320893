"""How a request reaches its route: who asks, parameters, bodies, errors."""
