"""The data that comes with the product: one folder per OOD set, and the mini suites under suites/."""
