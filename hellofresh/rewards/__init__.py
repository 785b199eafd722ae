"""Rewards: how good a response to a claim is, in numbers, for those that judge, choose among, or learn from responses.

Here is what applies a reward; `training` makes reward models, and nothing here needs it.
"""
