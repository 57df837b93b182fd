"""Trainings that several pages share: models learned in seconds, and the rows of kept runs.

`debate` runs two papers on attention again (`debate_rows` and `debate_bert` make its rows), and
`tray_runs` learns boxes on generated scenes. Models that are kept, trained, are `page.toys`.
"""
