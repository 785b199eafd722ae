"""Tasks for other evaluation harnesses: inspect_ai (an extra) and lm-eval-harness (a folder of files).

Nothing here is imported unless a harness, or a command about one, asks for it: inspect_ai takes seconds.
"""
