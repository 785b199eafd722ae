"""An OpenAI-compatible endpoint on this machine: what a framework asks there is asked like any step of a regime.

`/v1/chat/completions` and `/v1/responses` (whole or streamed) and `/v1/models`. Answers come from the models of the
run, whatever their provider speaks, so that they are kept, bounded, counted and replayed.
"""
