/**
 * What is made of a text or of another value that equals itself, kept for when the same one comes again.
 * @param most values that are kept; at one more all are dropped, since those of today come again at once
 */
export function remembered<Value, Given = string>(
  most: number,
  make: (given: Given) => Value,
): (given: Given) => Value {
  const made = new Map<Given, Value>();
  return (given) => {
    const known = made.get(given);
    if (known !== undefined) return known;
    if (made.size >= most) made.clear();
    const value = make(given);
    made.set(given, value);
    return value;
  };
}
