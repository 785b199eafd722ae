"""Evidence retrieval: corpora, judgements, retrievers."""
