"""The paper's Algorithm 1: branch and bound over assignments, with its relaxation and branching rules."""
