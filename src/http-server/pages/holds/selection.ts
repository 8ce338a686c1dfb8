import type { HeldItem } from '../../../control/target-objects.ts';
import { DAY_MS, type Instant } from '../../../model/time.ts';
import { offsetMs } from '../../../model/zones.ts';

/** Items of one local day. `date` is null for those without a time. */
export interface HeldDay {
  date: string | null;
  /** Of the first of them. */
  startAt: Instant | null;
  items: HeldItem[];
}

/** Items of one agenda. `agenda` is null for those of which the clinic's list does not tell. */
export interface HeldAgenda {
  agenda: { id: string; name: string | null } | null;
  items: HeldItem[];
}

/** How a form calls what has no day, and what has no agenda. */
export const NONE = '-';

/** Items by their local day, in their order. */
export function byDay(items: readonly HeldItem[], zone: string): HeldDay[] {
  const days = Map.groupBy(items, ({ startAt }) => dateOf(startAt, zone));
  return [...days].map(([date, ofDay]) => ({ date, startAt: ofDay[0]?.startAt ?? null, items: ofDay }));
}

/** Items by agenda, the largest first. */
export function byAgenda(items: readonly HeldItem[]): HeldAgenda[] {
  const agendas = Map.groupBy(items, ({ agenda }) => agenda?.id ?? null);
  return [...agendas.values()]
    .map((ofAgenda) => ({ agenda: ofAgenda[0]?.agenda ?? null, items: ofAgenda }))
    .toSorted((one, other) => other.items.length - one.items.length);
}

/** The local date of an item; null for one without a time. */
function dateOf(at: Instant | null, zone: string): string | null {
  if (at === null) return null;
  return new Date(Math.floor((at + offsetMs(zone, at)) / DAY_MS) * DAY_MS).toISOString().slice(0, 10);
}

/**
 * The items that a form chose: by themselves (`item`), by day (`day`) and by agenda (`agenda`), each as often as wanted. What is not in the hold
 * is not chosen.
 */
export function chosenIn(form: URLSearchParams, items: readonly HeldItem[], zone: string): HeldItem[] {
  const chosen = new Set(form.getAll('item'));
  const days = new Set(form.getAll('day'));
  const agendas = new Set(form.getAll('agenda'));
  return items.filter(
    ({ record, startAt, agenda }) =>
      chosen.has(record) || days.has(dateOf(startAt, zone) ?? NONE) || agendas.has(agenda?.id ?? NONE),
  );
}
