"""Sources of evidence: the web, corpora, ratings of publishers, and the content of pictures."""
