"""Hopper (SIGCOMM'15): slots for jobs by virtual size, which counts the copies a job will want."""
