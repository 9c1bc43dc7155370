"""Random numbers from less common distributions, and stateless ones."""
