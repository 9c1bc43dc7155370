"""Operations on sparse tensors."""
