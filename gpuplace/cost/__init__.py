"""What a step will cost: its work by shapes, its kernels' times, its copies, its schedule and its memory."""
