"""One model at work, what it leaves behind, and who has the work done."""
