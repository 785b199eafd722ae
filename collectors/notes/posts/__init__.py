"""Posts: from a local file, from web services in a row, or from both; every answer of a service is kept."""
