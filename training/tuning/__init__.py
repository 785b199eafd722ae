"""Tuning of language models that respond to claims: by written responses, by rewards, and by preferences.

The trainers are those of trl, with low-rank matrices by peft. What is here is what stands around them: recipes, data,
models to begin with, the log and the watch over it, checkpoints that survive a kill, and a card that tells it all.
"""
