"""What a training step minimises: pure functions of tensors, one file each."""
