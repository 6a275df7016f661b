"""Views: facts about a result, as displays of a notebook and as an HTML report."""
