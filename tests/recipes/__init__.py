"""The tasks of CONTRIBUTING, each as edits of a copy of the tree and the tests that run there."""
