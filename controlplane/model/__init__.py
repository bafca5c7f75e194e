"""What is known and what is wanted: ids, facts, orders, decisions, reasons and the cluster's columns."""
