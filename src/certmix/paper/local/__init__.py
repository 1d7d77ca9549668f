"""Local methods that the paper compares with."""
