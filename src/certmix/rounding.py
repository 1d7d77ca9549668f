"""The unit in which rounding is counted. The checker has its own (:mod:`certmix.verify.rounding`)."""

EPS = 2.220446049250313e-16  # from 1 to the next double; an operation is wrong by half of it at most
