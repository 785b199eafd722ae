"""What `release run` and `quarter run` do, in order; the command line shows what they say."""
