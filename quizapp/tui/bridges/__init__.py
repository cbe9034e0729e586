"""What screens ask of slow neighbors, without waiting: the judge, plans, fits, and a language model."""
