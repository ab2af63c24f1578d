"""The packed transformer, its methods, and the face that everything else meets: `Encoder`."""
