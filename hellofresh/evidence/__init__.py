"""Where evidence comes from: the web, corpora, publishers and their ratings, and what pictures show."""
