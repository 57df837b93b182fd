"""What a teacher uses: exercises, assignments and their grading, questions, sheets, the clinic.

Start with `assignment`; `deepdive assignment --help` runs a course.
"""
