"""What the lesson, the exercises and the page on leakage share: texts, the lab's data, a learner's progress."""
