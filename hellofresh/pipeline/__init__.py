"""The steps of `release run` and `quarter run`; the command line shows their messages."""
