"""Soft links: any engine for links that have to hold, and a search over which of the soft ones are broken."""
