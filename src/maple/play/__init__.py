"""A trained agent as a player on Pokémon Showdown servers, ours or any other."""
