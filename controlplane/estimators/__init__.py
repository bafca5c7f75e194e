"""What is learned from observations: tails, remaining times, host health, and the accuracy of estimates."""
