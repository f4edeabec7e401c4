"""Models that leave Python: JSON, and whatever else writes one for another program."""
