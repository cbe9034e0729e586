"""What client and judge say to each other, and how they find each other."""
