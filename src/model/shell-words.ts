/** A word of a command as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w.@:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
