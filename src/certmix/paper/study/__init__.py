"""The experiments of the paper, run again: every number and figure from code, with the paper's value beside ours."""
