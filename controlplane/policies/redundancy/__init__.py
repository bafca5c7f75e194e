"""When does it pay to start spare tasks, or to relaunch late ones? The rules of "redundancy and relaunch"."""
