"""What every room stands on: errors, files, time, editions, the workspace, stages, tables, and the network."""
