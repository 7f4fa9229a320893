"""The objects of the contract, as REST and the tools return them."""
