"""What runs the project itself: pages and how they are executed, the atlas of systems, the doctor.

Start with `pages`: discover, run, and build the notebooks.
"""
