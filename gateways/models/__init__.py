"""Models in: providers behind the ports of the domain."""
