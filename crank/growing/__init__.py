"""Growing: rules, splits and trees as plain data, and how a tree is made."""
