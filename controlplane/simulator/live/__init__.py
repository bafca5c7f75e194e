"""The live engine, whole, on a simulated driver: it knows what a shim would report, and decides as it does live."""
