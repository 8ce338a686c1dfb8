/** A message that a phone got. */
export interface Got {
  to: string;
  body: string;
}

/** Returns messages that arrived more than once: the same text on the same phone. @returns each duplicate after the first message */
export function doublesIn(messages: readonly Got[]): Got[] {
  const seen = new Set<string>();
  return messages.filter(({ to, body }) => {
    const text = `${to} ${body}`;
    const isDouble = seen.has(text);
    seen.add(text);
    return isDouble;
  });
}
