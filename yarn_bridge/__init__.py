"""What does a YARN operator need? The changes to make, a doctor, a status, and a real YARN on one machine to try it."""
