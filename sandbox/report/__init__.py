"""What a person looks at: a picture of a gait, a replay page, a video, a table for the terminal."""
