"""Claims that rest on other proofs: sums, unknown variances, soft links, margins, comparisons.

Each makes the statements of its parts from the whole's, and says what follows from their bounds. Who has a certificate
with the claim ``bound`` or ``infeasible`` can leave this room out.
"""
