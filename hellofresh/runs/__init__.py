"""Running evaluations: the runner with its pace and durable journal, and the files of a finished run."""
