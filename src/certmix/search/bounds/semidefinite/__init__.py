"""The semidefinite bound: pools of components, size blocks, an alternating direction method, and safe bounds."""
