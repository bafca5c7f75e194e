"""What is known and what is wished for: ids, facts, orders, decisions, reasons and the cluster's columns."""
