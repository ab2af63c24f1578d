"""Make training and test data: a source of papers or labels x a sampler = examples of one kind.

`sources/` reads papers, links and published records. `samplers/` turn them into examples: triplets,
pairs, lists, labels, classes, numbers. A module of each command combines them: `citations`, `pairs`, `text`, `ir`,
`open`, `patients`, `multi_scidocs`, `s2and_mini`, `scirepeval/`, `scimult/`. `preparation` writes the files.
"""
