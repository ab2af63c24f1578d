"""PMC-Patients for training: who is like whom, and which articles concern whom, as DPR-style examples."""
