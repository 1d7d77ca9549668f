"""The paper's wing: its models, its branch and bound, the methods it compares with, its experiments.

The core never imports it: engines and commands of the wing are found by their names.
"""
