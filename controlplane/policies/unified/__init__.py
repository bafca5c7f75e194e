"""One index for copies and originals."""
