"""How strong agents are: matches against others, ratings, tables, pictures and replays."""
