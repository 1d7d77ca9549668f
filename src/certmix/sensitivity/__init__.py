"""How sure every assignment is: margins of samples and pairs, and the clusterings that are nearly as good."""
