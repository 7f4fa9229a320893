"""Real parts that the tests run against: servers, clocks, the product on a stage."""
