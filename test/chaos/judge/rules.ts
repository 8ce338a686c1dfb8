import type { Entry } from './history.ts';

/** What a target should show, as the operator configured it. */
export interface TargetRules {
  /** Agendas of the clinic. */
  agendaIds: readonly string[];
  window: { pastDays: number; futureDays: number };
}

/** What a target should hold for an appointment. Times are epoch ms; of whole days the UTC midnights of their dates. */
export interface Shown {
  title: string;
  startAt: number;
  endAt: number;
}

/** `edge`: so near to the end of a window that both are right. */
export type Verdict = 'shown' | 'hidden' | 'edge';

const DAY_MS = 86_400_000;
/** The days of a window begin at a local midnight; an object within a day of either edge is no defect. */
const EDGE_MS = 1.5 * DAY_MS;
const ROME_DAY = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome' });

/** Returns whether an appointment belongs in a target at a time, from the clinic's own data only. @param at epoch ms */
export function verdictOn(entry: Entry, rules: TargetRules, at: number): Verdict {
  const { deleted, waits, status, agendaId, start, end } = entry;
  if (deleted || waits === true || status === 'Cancelled' || !rules.agendaIds.includes(agendaId)) return 'hidden';
  const fromAt = at - rules.window.pastDays * DAY_MS;
  const toAt = at + rules.window.futureDays * DAY_MS;
  if (Math.abs(end - fromAt) < EDGE_MS || Math.abs(start - toAt) < EDGE_MS) return 'edge';
  return end > fromAt && start < toAt ? 'shown' : 'hidden';
}

/** What the target shows of an appointment that belongs there. */
export function shownOf({ firstName, lastName, patientId, start, end, allDay }: Entry): Shown {
  const title = patientId === null ? 'Occupato' : `${firstName} ${lastName}`;
  return allDay ? { title, startAt: romeDate(start), endAt: romeDate(end) } : { title, startAt: start, endAt: end };
}

function romeDate(at: number): number {
  return Date.parse(`${ROME_DAY.format(at)}T00:00:00Z`);
}
