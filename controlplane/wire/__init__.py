"""How facts and orders travel: the shim's envelope and its exported JSON Schema."""
