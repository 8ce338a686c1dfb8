/**
 * What is made of a text, kept for when the same text comes again.
 * @param most texts that are kept; at one more all are forgotten, since those of today come again at once
 */
export function remembered<Value>(most: number, make: (text: string) => Value): (text: string) => Value {
  const made = new Map<string, Value>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    if (made.size >= most) made.clear();
    const value = make(text);
    made.set(text, value);
    return value;
  };
}
