"""The voters of Community Notes: what their ratings say of labels, and the best score of who knew every voter."""
