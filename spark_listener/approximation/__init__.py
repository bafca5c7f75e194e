"""How is an action on Spark bounded? What it runs, when it stops, and what the partitions seen say of all."""
