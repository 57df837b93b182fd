"""What a page uses to show things: its profile, figures, diagrams, tables, films, live models;
and the published models that come inside packages.

Start with `profile` (how much work a page does) and `plotting`.
"""
