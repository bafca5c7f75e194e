"""A shared cluster with machines, phases and inputs, on which allocators and speculators compete: Hopper's setting."""
