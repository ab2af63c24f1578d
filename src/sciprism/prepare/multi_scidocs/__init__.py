"""`sciprism prepare multi-scidocs`: Multi2SPE's benchmark, made of any corpus with citations and fields."""
