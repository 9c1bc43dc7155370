"""Operations on text."""
