"""A scored split, opened once: entries, panel, judgements and ratings, handed down as one value."""
