"""Rewards: numeric scores of responses to claims, for judging, choosing among, or learning from responses.

This package applies rewards; `training` makes reward models and is not needed here.
"""
