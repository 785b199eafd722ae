"""The Python interface: load an edition, evaluate a model or an agent on it, score predictions.

    edition = hf.load("2026Q2", "x-notes")
    run = hf.evaluate(edition, model="gpt-6-luna", regime="zero-shot", limit=100)
    run.score()
    hf.score(edition, {"xn-1": 1, "xn-2": None})
    hf.compare(edition, {"mine": "predictions.jsonl", "theirs": run})
    hf.compare(frame)  # any table of scores: is first place significant?

Tables are polars data frames; `.to_pandas()` and Arrow's stream protocol work on them. Scores are those of the
leaderboard: the same metrics and intervals, with constant-class baselines for comparison.
"""
