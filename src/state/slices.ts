/** Cuts a list into pieces of at most `size`. */
export function* slices<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
