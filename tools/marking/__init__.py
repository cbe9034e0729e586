"""Fits what the marking of typed answers needs: the space of concepts and the weights of the model."""
