/** The known word nearest to the one that was written, when it is near enough to be a slip; else null. */
export function didYouMean(written: string, candidates: Iterable<string>): string | null {
  const folded = fold(written);
  let nearest: string | null = null;
  let nearestDistance = Math.max(2, Math.floor(folded.length / 3)) + 1;
  for (const word of candidates) {
    const other = fold(word);
    // No fewer changes than one is longer than the other: a word without end is compared with none.
    const least = Math.abs(folded.length - other.length);
    if (least >= nearestDistance || least >= word.length) continue;
    const distance = editDistance(folded, other);
    if (distance < nearestDistance && distance < word.length) {
      nearest = word;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/** Case and separators are what people get wrong most: `past_days` is `pastDays`. */
function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ .]/g, '');
}

/** Levenshtein's distance: insertions, deletions and replacements of one character. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replace = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
