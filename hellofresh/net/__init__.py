"""What several rooms need to share a machine and a network with others: locks between processes, and more to come."""
