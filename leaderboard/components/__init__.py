"""Components of pages: HTML from the board's tables, the same on the live site and in its static copy."""
