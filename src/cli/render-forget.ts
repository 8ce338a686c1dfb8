import type { ForgetPreview } from '../features/forget/forget.ts';
import type { ErasedTraces, ForgetReceipt, ForgetWarning } from '../model/forgetting.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime, wrap } from './table.ts';

const WARNING_TEXTS: Readonly<Record<ForgetWarning, string>> = {
  'clinic-has-no-patient':
    'The clinic has no such patient. Appointments and invoices that it lists no more could not be told, but for what CRMs join to the contact.',
  'patient-unread': 'The login may not read patients: only their appointments tell of them.',
  'patient-unusable': "The clinic has the patient, and the row can't be used.",
  'appointments-partial': 'The list of appointments was not whole: do it again later.',
  'invoices-partial': 'The list of invoices was not whole: do it again later.',
  'invoices-unread': 'The login may not read invoices: those are not looked for.',
  'target-not-searched':
    'A target could not be searched for objects that no link tells of. When it can be reached again, do it again.',
  'still-in-clinic': 'The clinic still has the patient. The tombstone keeps them out of every target.',
  'opt-outs-stay': 'What the patient asked not to be sent stays, as a keyed hash: it protects them.',
  'erasures-wait': 'Not all is erased yet. The daemon goes on; the same command tells how it stands.',
};

/** Receipts that are shown unless told. */
const SHOWN_RECEIPTS = 100;

const REACHES = { wholly: 'wholly', bin: "the vendor's bin keeps it for a while" } as const;

const TRACES: Readonly<Record<keyof ErasedTraces, string>> = {
  journalLines: 'lines of journals',
  pins: 'pins',
  holds: 'places in holds',
  notes: 'notes of audits and the guard',
  reminders: 'reminders',
  answerLinks: 'links to answer by',
  examples: 'examples in reports',
};

/** What forgetting would take away, and how to go on. */
export function renderForgetPreview(preview: ForgetPreview): string {
  const { tenant, isForgotten, appointments, invoices, upcoming, reminders, answerLinks, targets, notes } = preview;
  const columns = ['target', 'connector', 'known there', 'to look for', 'reach'];
  const rows = targets.map(({ target, connector, linked, toLookFor, reach }) => [
    target,
    connector,
    linked,
    toLookFor,
    REACHES[reach],
  ]);
  return [
    `One patient of ${tenant}; nothing was written.${isForgotten ? ' A tombstone stands already.' : ''}`,
    wrap(
      `Found: ${appointments} appointments, ${invoices} invoices, ${reminders} reminders, ${answerLinks} links to answer by. ${upcomingLine(upcoming)}`,
    ),
    renderTable(columns, rows),
    ...notes.map((warning) => wrap(WARNING_TEXTS[warning])),
    'To go on, give the same command with --yes.',
  ].join('\n\n');
}

/** A receipt, in words. */
export function renderReceipt({
  receipt,
  tenant,
  at,
  tombstone,
  upcoming,
  targets,
  state,
  notes,
}: ForgetReceipt): string {
  const columns = ['target', 'connector', 'found', 'erased', 'waiting', 'failed', 'reach'];
  const rows = targets.map(({ target, connector, found, erased, waiting, failed, reach, failure }) => [
    target,
    connector,
    found,
    erased,
    waiting,
    failed,
    failure === null ? REACHES[reach] : `kept back: ${failure}`,
  ]);
  const traces = Object.entries(TRACES).flatMap(([name, words]) => {
    const count = state[name as keyof ErasedTraces];
    return count === 0 ? [] : [`${count} ${words}`];
  });
  return [
    `Receipt ${receipt} of ${tenant}, ${renderTime(at)}\nTombstone ${tombstone}`,
    renderTable(columns, rows),
    wrap(`Taken out of the state: ${traces.join(', ') || 'nothing'}. ${upcomingLine(upcoming)}`),
    ...notes.map((warning) => wrap(WARNING_TEXTS[warning])),
  ].join('\n\n');
}

function upcomingLine(upcoming: number): string {
  if (upcoming === 0) return 'No appointment to come leaves a calendar.';
  return `${upcoming} appointments to come leave the calendars; the clinic still has them.`;
}

/** Receipts as a table: what went, and what waits. */
export function renderReceipts({ receipts }: { receipts: readonly ForgetReceipt[] }): string {
  if (receipts.length === 0) return 'Nobody was forgotten.';
  const columns = ['receipt', 'at', 'targets', 'objects', 'erased', 'waiting'];
  const sum = (numbers: readonly number[]) => String(numbers.reduce((total, number) => total + number, 0));
  const { shown, more } = firstRows(receipts, SHOWN_RECEIPTS);
  const rows = shown.map(({ receipt, at, targets }) => [
    receipt,
    renderTime(at),
    targets.length,
    sum(targets.map(({ found }) => found)),
    sum(targets.map(({ erased }) => erased)),
    sum(targets.map(({ waiting, failed }) => waiting + failed)),
  ]);
  return [renderTable(columns, rows), ...more].join('\n');
}
