"""The door for data: scores of any accepted type become integers on a public grid."""
