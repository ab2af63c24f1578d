"""The HTTP service: collections and models behind the clients that programs have, and a page for people."""
