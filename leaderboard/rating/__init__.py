"""The page Rate: an app of its own, for people who rate responses. It knows its folder and nothing of the board."""
