"""How many components: the same problem with every number of them, and which number is proved the best."""
