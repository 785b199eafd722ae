"""Predictions that other people hand in: their format, the check, receipts, and which of them count.

`submissions/<quarter>/<team>/<system>/` holds `predictions.jsonl`, `system.toml` and `receipt.json`; what is said on
the prospective split lies beside them in `prospective.jsonl`, with a receipt of its own (see submissions/README.md).
The check reads everything and names every fault, with the line, the field and what to do, all of them at once. What it
reads is untrusted: size and depth are bounded, JSON is parsed strictly, and nothing of it is run or used as a path.
"""
