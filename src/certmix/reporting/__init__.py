"""A result as one HTML page."""

from certmix.reporting.page import page, report

__all__ = ["page", "report"]
