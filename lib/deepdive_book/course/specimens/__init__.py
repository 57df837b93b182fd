"""What measurements in the bug clinics are made of: generated texts, pictures and recordings.

A student's measurement calls these, so grading shows them to what a student wrote. What ails the
patients, and the healthy parts, are in `deepdive_book.course.clinic`, which grading keeps from it.
"""
