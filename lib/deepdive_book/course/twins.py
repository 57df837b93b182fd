"""Which seed the patients of a bug clinic have: 0 on the ward, another one in grading.

A number that a student noted from a patient on the ward therefore fits no patient in grading.
"""

SEEDS = (2, 3, 4)  # with which each clinic's own solutions were tried, as was 0
SEED = 0  # of the patients of this process; the judge sets it
