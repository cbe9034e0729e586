"""What a release must hold, checked by the workflows before anything is published."""
