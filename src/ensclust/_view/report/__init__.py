"""A consensus clustering as one HTML file that opens offline in any browser."""
