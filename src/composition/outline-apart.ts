import { Apart } from '../http/apart.ts';
import type { OutlineApart, PlainOutline } from '../settings/crm-expressions.ts';

/** 20 times as long as the longest expression takes. */
const LIMITS = { processorMs: 1_000, elapsedMs: 30_000, mebibytes: 64 };

const threads = new Apart(new URL('./outline-apart-entry.ts', import.meta.url), LIMITS);

/** Outlines expressions in a thread with limits of time and memory. */
export const outlineApart: OutlineApart = async (expressions) => {
  const outlines: (PlainOutline | null)[] = [];
  for (const expression of expressions) {
    const [outline] = await Array.fromAsync(threads.ask(expression, 'expressions')).catch(() => []);
    outlines.push((outline ?? null) as PlainOutline | null);
  }
  return outlines;
};
