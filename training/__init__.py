"""Training of rerankers, reward models and responding models. Runs import none of it: they read the trained files."""
