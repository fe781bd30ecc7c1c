"""What rooms that are not yet on the six shapes share."""
