"""PMC-Patients for training: similar patients, and articles for a patient, as DPR-style examples."""
