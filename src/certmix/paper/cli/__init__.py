"""The commands of the paper: ``certmix export`` and ``certmix reproduce``."""
