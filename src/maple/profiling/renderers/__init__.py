"""Ways to show a session: as text, as charts, as a page, as a trace."""
