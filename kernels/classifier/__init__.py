"""A classifier of small pictures: one hidden layer, softmax, and gradient descent."""
