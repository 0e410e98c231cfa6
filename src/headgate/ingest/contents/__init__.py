"""Contents of archives: listing them, and extracting single files, in the sandbox."""
