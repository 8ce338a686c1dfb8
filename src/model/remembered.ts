/**
 * What is made of a text or of another value that equals itself, kept for when the same one comes again.
 * @param most values that are kept; at one more all are dropped, since those of today come again at once
 */
export function remembered<Value, Given = string>(
  most: number,
  make: (input: Given) => Value,
): (input: Given) => Value {
  const made = new Map<Given, Value>();
  return (input) => {
    const cached = made.get(input);
    if (cached !== undefined) return cached;
    if (made.size >= most) made.clear();
    const value = make(input);
    made.set(input, value);
    return value;
  };
}
