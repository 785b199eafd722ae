"""Tasks for other evaluation harnesses: inspect_ai (an extra) and lm-eval-harness (a folder of files).

Only a harness, or a command about one, imports this package: importing inspect_ai takes seconds.
"""
