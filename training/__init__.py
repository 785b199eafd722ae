"""Training of rerankers, and tuning of what responds. No run imports any of it: what is trained is read as files."""
