"""Submissions, predictions from other people: their format, the check, receipts, and which of them count.

`submissions/<quarter>/<team>/<system>/` holds `predictions.jsonl`, `system.toml` and `receipt.json`; predictions
on the prospective split lie beside them in `prospective.jsonl`, with their own receipt (see submissions/README.md).
The check reports all faults at once, each with its line, its field and what to do. Its input is untrusted: size and
depth are bounded, JSON is parsed strictly, and nothing in it is run or used as a path.
"""
