"""The page Try: an app of its own, off unless it is started. It asks no model itself: it runs `hellofresh respond`."""
