"""What was proved, in a file that another program can check. Makers live here; the checker is :mod:`certmix.verify`."""

from certmix.certificate.format import Certificate

__all__ = ["Certificate"]
