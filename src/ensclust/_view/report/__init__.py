"""A consensus clustering as one HTML file that opens anywhere, without a network."""
