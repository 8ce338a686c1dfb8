/** A message that a phone got. */
export interface Got {
  to: string;
  body: string;
}

/** Messages that came more than once: the same words to the same phone. @returns each double beyond the first */
export function doublesIn(messages: readonly Got[]): Got[] {
  const seen = new Set<string>();
  return messages.filter(({ to, body }) => {
    const text = `${to} ${body}`;
    const isDouble = seen.has(text);
    seen.add(text);
    return isDouble;
  });
}
