"""The papers' policies: a paper is a folder, its idea a file. `registry` is the one table of names."""
