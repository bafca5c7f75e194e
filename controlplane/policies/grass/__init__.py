"""GRASS (NSDI'14): which running task deserves one more attempt?"""
