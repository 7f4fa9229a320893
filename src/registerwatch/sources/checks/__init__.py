"""What is relied on of how the sources answer, and looking whether it still holds: daily, and when an operator asks."""
