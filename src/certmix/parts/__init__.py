"""Many samples: a partition, a bound for every part, and their sum."""
