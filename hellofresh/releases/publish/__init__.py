"""Publication of the opened quarters' data as one Hugging Face dataset repository."""
