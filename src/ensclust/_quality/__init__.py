"""Quality: how sure a result is, and which of several is best."""
