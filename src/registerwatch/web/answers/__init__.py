"""The contract's objects, as REST and the tools answer them."""
