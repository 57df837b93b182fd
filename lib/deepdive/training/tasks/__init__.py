"""What pages share that train for a task: texts to batches, the loss, predictions."""
