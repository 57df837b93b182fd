"""Training for a task, as pages share it: batches of texts, images, or speech; loss;
predictions."""
