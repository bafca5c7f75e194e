"""HTTP: the shim's endpoint, the public REST API, health, metrics and the decision page."""
