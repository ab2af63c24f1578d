"""Write grouped.asreview: a project of ASReview in which duplicates are groups, with stored features.

found.csv has records besides those of the example collection. ASReview's own groups are replaced by those of `dedupe`.
"""

from pathlib import Path

import asreview

from sciprism.papers import read_papers
from sciprism.uses.deduplication import dedupe, write_papers
from sciprism.uses.screening.asreview import WordsAndVectors

records = list(read_papers(["examples/landmarks/landmarks.bib", "found.csv"]))
first = {row: group[0] for group in dedupe(records).groups for row in group}
write_papers(((record, []) for record in records), Path("records.csv"))
project = asreview.Project.create("grouped")
project.add_dataset("records.csv")
print(project.db.input.get_groups()[-3:])
project.db.input.set_groups([(first.get(row, row), row) for row in range(len(records))])
print([pair for pair in project.db.input.get_groups() if pair[1] > 285])
project.add_feature_matrix(WordsAndVectors().fit_transform(project.db.input.get_df()), "sciprism")
project.add_review(asreview.ActiveLearningCycleData("max", "svm", "balanced", "sciprism"))
project.export("grouped.asreview")
