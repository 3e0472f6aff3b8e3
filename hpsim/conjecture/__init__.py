"""What is done with statements about pipelines."""
