/** The entries of a log after a change; `log` is in order of its changes. */
export function entriesAfter<Entry extends { change: number }>(log: readonly Entry[], change: number): Entry[] {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (log[middle]!.change > change) high = middle;
    else low = middle + 1;
  }
  return log.slice(low);
}
