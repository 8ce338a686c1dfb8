/** Makes something when it is first asked for: a tenant of which only the status is wanted needs little of itself. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
