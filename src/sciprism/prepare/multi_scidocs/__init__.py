"""`sciprism prepare multi-scidocs`: Multi2SPE's benchmark from any corpus with citations and fields."""
