"""Operations on arrays that few programs have."""
