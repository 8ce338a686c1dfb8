/**
 * Shares what is computed among all who ask for it within so long, so that many who look cost a clinic and a vendor no more than one. A
 * failure counts for those alone who waited for it.
 * @param clock milliseconds that only go forward
 */
export function keptViews<View>(keptMs: number, clock: () => number = () => performance.now()) {
  const kept = new Map<string, { view: Promise<View>; untilMs: number }>();
  return (key: string, compute: () => Promise<View>): Promise<View> => {
    const now = clock();
    for (const [each, { untilMs }] of kept) if (untilMs <= now) kept.delete(each);
    const known = kept.get(key);
    if (known !== undefined) return known.view;
    const view = compute();
    const entry = { view, untilMs: now + keptMs };
    kept.set(key, entry);
    view.catch(() => {
      if (kept.get(key) === entry) kept.delete(key);
    });
    return view;
  };
}
