import type { ForgetPreview } from '../features/forget/forget.ts';
import type { HOLD_OPERATIONS } from '../features/holds/operations.ts';
import type { MatchResult } from '../features/match/apply.ts';
import type { MatchView } from '../features/match/propose.ts';
import { UNDO_RESULTS } from '../features/undo/texts.ts';
import type { TenantRun, UndoResult, UndoView } from '../features/undo/undo.ts';
import type { ErasedTraces, ForgetReceipt, ForgetWarning } from '../model/forgetting.ts';
import type { ResultOf } from '../operations/operation.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Default number of holds. */
const SHOWN_HOLDS = 100;

/** Renders holds as a table, with the commands that decide the holds. */
export function renderHolds({ items: holds }: ResultOf<typeof HOLD_OPERATIONS.listHolds>): string {
  if (holds.length === 0) return 'Nothing is held.';
  const columns = [
    'hold',
    'tenant',
    'target',
    'kind',
    'items',
    'of links',
    { heading: 'state', isState: true },
    'seen',
    'expires',
  ];
  const { shown, more } = firstRows(holds, SHOWN_HOLDS);
  const rows = shown.map((hold) => [
    hold.id,
    hold.tenant,
    hold.target,
    hold.kind,
    hold.items,
    hold.linkCount,
    hold.state,
    hold.seen,
    renderTime(hold.expiresAt),
  ]);
  const open = holds.find(({ state }) => state === 'open');
  const hint =
    open === undefined
      ? ''
      : `\n\nDecide with:  clinic-mirror holds approve ${open.tenant} ${open.id} --seen ${open.seen}\n              clinic-mirror holds reject ${open.tenant} ${open.id} --seen ${open.seen}`;
  return [renderTable(columns, rows), ...more].join('\n') + hint;
}

/** Renders the records of a hold, one per line, in the format of `--only`. */
export function renderHold({ records }: ResultOf<typeof HOLD_OPERATIONS.readHold>): string {
  return records.join('\n');
}

/** Renders a decision. */
export function renderDecision({ hold }: ResultOf<typeof HOLD_OPERATIONS.decideHold>): string {
  const { id, tenant, target, state, items, partOf } = hold;
  const next = state === 'approved' ? ` They go with the next cycle (now: clinic-mirror sync ${tenant}).` : '';
  const rest = partOf === null ? '' : ` The others go on waiting as hold ${partOf}.`;
  return `Hold ${id} of ${target} is ${state}: ${items} items.${next}${rest}`;
}

/** Reasons for unchanged pairs, by code. */
const WHY: Readonly<Record<string, string>> = {
  'patient-left-out': "the target's rules leave the patient out, or the clinic has them no more",
  'patient-has-contact': 'the patient has a contact of ours',
  'patient-changed': 'the patient is no longer as in the file',
  'contact-gone': 'the contact is not there any more',
  'contact-taken': "the contact carries another one's key or stamp",
  'contact-changed': 'the contact is no longer as in the file',
  'contact-not-ours': "the contact does not carry this patient's key",
};

/** Renders found matches. @param file path of the written file; null without a file */
export function renderMatches(view: MatchView, file: string | null): string {
  const { tenant, target, connector, asOf, contacts, patients, alike, pairs, ambiguous, tooCommon } = view;
  const rows = [
    ['contacts that are not ours', contacts],
    ['patients without a contact of ours', patients],
    ['of these, patients who look like a contact', alike],
    ['pairs', pairs],
    ['of these, ambiguous: for a person to tell apart', ambiguous],
    ['addresses, telephones, names that too many share to tell anything', tooCommon],
  ].map((row) => row.map(String));
  const columns = [`${target} (${connector})`, ''];
  return [
    `Matches of ${tenant} as of ${renderTime(asOf)}`,
    '',
    renderTable(columns, rows),
    '',
    nextStep(view, file),
  ].join('\n');
}

function nextStep({ tenant, target, pairs }: MatchView, file: string | null): string {
  const command = `clinic-mirror match ${tenant} ${target}`;
  if (pairs === 0) return 'Nothing is to be decided.';
  if (file === null)
    return wrap(`Nothing was written. For the pairs, with patient data in them: ${command} --out <file>`);
  return wrap(
    `The pairs are in ${file}, which holds patient data: delete it when you are done. Write "adopt" into the column decision of those that are one person, then: ${command} --apply ${file}`,
  );
}

/** Renders the result of a match file. */
export function renderMatchResult(result: MatchResult, verb: 'apply' | 'undo'): string {
  const { tenant, target, approved, done, already, refused } = result;
  const what =
    verb === 'apply'
      ? `contacts are their patients' now; the next sync updates them`
      : `contacts are nobody's again; what a sync wrote into them stays, and the next one makes others for these patients`;
  const head = `${tenant} ${target}: of ${approved} approved, ${done} ${what}; ${already} were so already.`;
  if (refused.length === 0) return wrap(head);
  const rows = refused.map(({ line, record, why }) => [line, record, WHY[why] ?? why]);
  const columns = ['line', 'patient', 'why'];
  return [wrap(head), wrap(`Left as they are, ${refused.length}:`), renderTable(columns, rows)].join('\n');
}

/** Default number of runs. */
const SHOWN_RUNS = 50;

/** Renders the runs that can be undone, as a table. */
export function renderRuns({ runs }: { runs: readonly TenantRun[] }): string {
  const [first] = runs;
  if (first === undefined) return 'No run changed or deleted anything within the time that journals are kept.';
  const columns = ['run', 'tenant', 'first change', 'changed', 'deleted'];
  const { shown, more } = firstRows(runs, SHOWN_RUNS);
  const rows = shown.map(({ run, tenant, at, updated, deleted }) => [run, tenant, renderTime(at), updated, deleted]);
  return `${[renderTable(columns, rows), ...more].join('\n')}\n\nSee what undoing would do:  clinic-mirror undo ${first.run} --dry-run`;
}

/** Renders the result of an undo: counts per target and result. */
export function renderUndo({ run, tenant, dryRun, pinnedUntil, records }: UndoView): string {
  const counts = new Map<string, number>();
  for (const { target, effect, result } of records) {
    const name = JSON.stringify([target, effect, result]);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const rows = [...counts].sort().map(([name, count]) => {
    const [target, effect, result] = JSON.parse(name) as [string, string, UndoResult];
    const becomes = UNDO_RESULTS.en[result === 'waiting' && !dryRun ? 'waitingStill' : result];
    return [target, effect, count, becomes];
  });
  const columns = ['target', 'run had', 'items', 'now'];
  const head = dryRun ? `Run ${run} of ${tenant}; nothing was written.` : `Run ${run} of ${tenant} is undone.`;
  const pin =
    pinnedUntil === null
      ? ''
      : `\n\n${wrap(
          `What was put back stays until ${renderTime(pinnedUntil)} whatever the target's rules say; to let them decide again: clinic-mirror undo ${run} --release`,
        )}`;
  return `${head}\n\n${renderTable(columns, rows)}${pin}`;
}

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

/** Default number of receipts. */
const SHOWN_RECEIPTS = 100;

const REACHES = { wholly: 'wholly', bin: "the vendor's bin keeps it for a while" } as const;

const TRACES: Readonly<Record<keyof ErasedTraces, string>> = {
  journalLines: 'lines of journals',
  pins: 'pins',
  holds: 'places in holds',
  auditFindings: 'notes of audits and the guard',
  reminders: 'reminders',
  answerLinks: 'links to answer by',
  examples: 'examples in reports',
};

/** Renders the data that `forget` would erase, and the next command. */
export function renderForgetPreview(preview: ForgetPreview): string {
  const { tenant, isForgotten, appointments, invoices, upcoming, reminders, answerLinks, targets, warnings } = preview;
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
    ...warnings.map((warning) => wrap(WARNING_TEXTS[warning])),
    'To go on, give the same command with --yes.',
  ].join('\n\n');
}

/** Renders a receipt. */
export function renderReceipt({
  receipt,
  tenant,
  at,
  tombstone,
  upcoming,
  targets,
  state,
  warnings,
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
    ...warnings.map((warning) => wrap(WARNING_TEXTS[warning])),
  ].join('\n\n');
}

function upcomingLine(upcoming: number): string {
  if (upcoming === 0) return 'No appointment to come leaves a calendar.';
  return `${upcoming} appointments to come leave the calendars; the clinic still has them.`;
}

/** Renders receipts as a table: erased and pending data. */
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
