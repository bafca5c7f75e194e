"""What is learned from what was seen: tails, remaining times, host health, and how right the guesses were."""
