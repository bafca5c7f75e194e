"""What does a person see? View models, templates and assets of the decision page; no state and no I/O of their own."""
