"""Passwords whose hashing costs next to nothing, for tests that are not about them."""

from argon2 import PasswordHasher, Type

from registerwatch.accounts.passwords import Passwords


def quick_passwords() -> Passwords:
    """argon2id with the least work that it can do."""
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID))
