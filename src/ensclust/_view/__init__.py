"""Views: facts about a result, as notebook displays and as an HTML report."""
