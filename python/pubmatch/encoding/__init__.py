"""Values to positions: events become points, the sides of filters become bounds, on axes that agree."""
