"""The paper's own models, stated once in Pyomo and solved by whichever solver is there."""
