"""Mutants: small changes of the product's code, each of which some test should notice."""
