"""Models as triangles: STL, 3MF and OBJ files, read within limits."""
