"""The base of all rooms: errors, files, time, editions, the workspace, stages, tables, and the network."""
