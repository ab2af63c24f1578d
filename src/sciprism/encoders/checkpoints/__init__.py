"""Other people's weights and our own folders: names, layouts, reading and writing."""
