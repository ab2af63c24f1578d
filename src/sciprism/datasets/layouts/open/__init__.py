"""The open data as tasks: each layout draws papers by a hash of their ids and keeps to the one split."""
