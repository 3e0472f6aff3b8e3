"""What the kernels are compared with: random pipelines and their makespans by independent means."""
