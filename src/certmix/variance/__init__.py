"""An unknown variance: the problem is solved at some known ones, and concavity says the rest."""
