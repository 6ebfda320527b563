"""What the fused steps of part two are made of. README.md tells what they stand on."""
