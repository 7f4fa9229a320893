"""What tests share: the harness, servers that tests start, clocks."""
