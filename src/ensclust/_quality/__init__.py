"""Quality: how certain a result is, and which of several is best."""
