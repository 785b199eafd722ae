"""Training of rerankers. Nothing of it is imported by a run: what is trained is read as a file by `retrieval`."""
