"""The board of note writers: its tables, and its page."""
