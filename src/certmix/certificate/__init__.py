"""What was proved, in a file that another program can check. Makers live here; the checker is :mod:`certmix.verify`."""

from certmix.io.certificates import Certificate

__all__ = ["Certificate"]
