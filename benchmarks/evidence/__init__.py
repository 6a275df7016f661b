"""What defaults rest on: paired experiments on data that was not used to choose."""
