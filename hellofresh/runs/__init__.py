"""Asking, and losing nothing: evaluations, the runner with its pace and journal, and what a finished run leaves."""
