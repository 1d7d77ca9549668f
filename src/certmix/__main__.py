"""``python -m certmix``."""

from certmix.cli.main import main

main()
