"""Makes the shared helpers in this folder importable from every test."""
