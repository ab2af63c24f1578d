"""Retrieval sets out of annotated questions and the abstracts of other papers (INDUS, NASA-IR)."""
