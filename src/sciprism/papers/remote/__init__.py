"""Input from object stores and web servers: addresses, their objects, and files that survive dropped connections."""
