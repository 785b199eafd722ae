"""Reviews of claims by fact-checkers: from feeds of ClaimReview objects to candidates of the task claims."""
