"""The documents as a site: their pages, put in order and made to stand alone, and the tool that
renders them."""
