"""What `Repository` offers, one mixin a subject; bodies import lazily what does the work."""
