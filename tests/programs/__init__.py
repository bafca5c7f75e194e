"""Which real programs are estimates judged by? Small ones of every kind of operator, slowed in known ways."""
