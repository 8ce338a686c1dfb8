import type { ErasedTraces, ForgetReceipt, ForgetWarning } from '../../core/model/forgetting.ts';
import type { ForgetPreview } from '../../features/forget/schemas.ts';
import type { HOLD_OPERATIONS } from '../../features/holds/operations.ts';
import type { MatchView } from '../../features/match/propose.ts';
import type { MatchResult } from '../../features/match/schemas.ts';
import type { TenantRun, UndoResult, UndoView } from '../../features/undo/schemas.ts';
import { UNDO_RESULTS } from '../../features/undo/texts.ts';
import type { ResultOf } from '../operations/operation.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

type ListedHold = ResultOf<typeof HOLD_OPERATIONS.listHolds>['items'][number];

/** Default number of holds. */
const SHOWN_HOLDS = 100;

/** Renders holds as a table, with the commands that decide the holds. */
export function renderHolds({ items: holds }: ResultOf<typeof HOLD_OPERATIONS.listHolds>): string {
  if (holds.length === 0) return 'No holds exist.';
  const columns = [
    'hold',
    'tenant',
    'target',
    'kind',
    'records',
    'total links',
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
  const limits = shown.flatMap(({ id, limit, exceededIn, usual }) =>
    limit === null
      ? []
      : [
          wrap(
            `${id}: above the limit of ${exceededIn}: ${limit.count} objects and ${Math.round(limit.share * 100)} %${usualText(usual)}`,
          ),
        ],
  );
  const open = holds.find(({ state }) => state === 'open');
  const hint =
    open === undefined
      ? ''
      : `\n\nDecide with:  clinic-mirror holds approve ${open.tenant} ${open.id} --seen ${open.seen}\n              clinic-mirror holds reject ${open.tenant} ${open.id} --seen ${open.seen}`;
  return [renderTable(columns, rows), ...more, ...(limits.length > 0 ? ['', ...limits] : [])].join('\n') + hint;
}

function usualText(usual: ListedHold['usual']): string {
  if (usual?.range == null) return '';
  const { least, most, days } = usual.range;
  return `. Usual: ${least === most ? most : `${least} to ${most}`} a day (${days === 1 ? '1 day' : `${days} days`})`;
}

/** Renders the records of a hold, one per line, in the format of `--only`. */
export function renderHold({ records }: ResultOf<typeof HOLD_OPERATIONS.readHold>): string {
  return records.join('\n');
}

/** Renders a decision. */
export function renderDecision({ hold }: ResultOf<typeof HOLD_OPERATIONS.decideHold>): string {
  const { id, tenant, target, state, items, partOf } = hold;
  const next = state === 'approved' ? ` The next cycle writes these changes (now: clinic-mirror sync ${tenant}).` : '';
  const rest = partOf === null ? '' : ` The remaining records wait in hold ${partOf}.`;
  return `Hold ${id} of ${target} is ${state}: ${items} records.${next}${rest}`;
}

/** Reasons for unchanged pairs, by code. */
const WHY: Readonly<Record<string, string>> = {
  'patient-left-out': "the target's rules exclude the patient, or the clinic no longer has the patient",
  'patient-has-contact': 'the patient already has a contact created by clinic-mirror',
  'patient-changed': 'the patient differs from the file',
  'contact-gone': 'the contact no longer exists',
  'contact-taken': 'the contact has the key or stamp of another patient',
  'contact-changed': 'the contact differs from the file',
  'contact-not-ours': "the contact does not have this patient's key",
};

/** Renders found matches. @param file path of the written file; null without a file */
export function renderMatches(view: MatchView, file: string | null): string {
  const { tenant, target, connector, asOf, contacts, patients, alike, pairs, ambiguous, tooCommon } = view;
  const rows = [
    ['contacts not created by clinic-mirror', contacts],
    ['patients without a contact from clinic-mirror', patients],
    ['patients similar to a contact', alike],
    ['pairs', pairs],
    ['ambiguous pairs, for an administrator to decide', ambiguous],
    ['e-mail addresses, phone numbers and names shared by too many contacts', tooCommon],
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
  if (pairs === 0) return 'No decisions are open.';
  if (file === null) return wrap(`Nothing was written. To save the pairs with patient data: ${command} --out <file>`);
  return wrap(
    `${file} contains the pairs with patient data: delete the file after use. Write "adopt" into the column decision of each correct pair, then run: ${command} --apply ${file}`,
  );
}

/** Renders the result of a match file. */
export function renderMatchResult(result: MatchResult, verb: 'apply' | 'undo'): string {
  const { tenant, target, approved, done, already, refused } = result;
  const what =
    verb === 'apply'
      ? 'linked to patients (the next sync updates these contacts)'
      : 'unlinked from patients (the contacts keep synced values, and the next sync creates new contacts for these patients)';
  const head = `${tenant} ${target}: approved ${approved}, ${done} ${what}, unchanged ${already}.`;
  if (refused.length === 0) return wrap(head);
  const rows = refused.map(({ line, record, why }) => [line, record, WHY[why] ?? why]);
  const columns = ['line', 'patient', 'why'];
  return [wrap(head), wrap(`Not changed, ${refused.length}:`), renderTable(columns, rows)].join('\n');
}

/** Default number of runs. */
const SHOWN_RUNS = 50;

/** Renders the runs that can be undone, as a table. */
export function renderRuns({ runs }: { runs: readonly TenantRun[] }): string {
  const [first] = runs;
  if (first === undefined) return 'No run changed or deleted objects within the retention time of journals.';
  const columns = ['run', 'tenant', 'first change', 'changed', 'deleted'];
  const { shown, more } = firstRows(runs, SHOWN_RUNS);
  const rows = shown.map(({ run, tenant, at, updated, deleted }) => [run, tenant, renderTime(at), updated, deleted]);
  return `${[renderTable(columns, rows), ...more].join('\n')}\n\nTo preview an undo:  clinic-mirror undo ${first.run} --dry-run`;
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
  const columns = ['target', 'run effect', 'objects', 'now'];
  const head = dryRun ? `Run ${run} of ${tenant}; nothing was written.` : `Run ${run} of ${tenant} is undone.`;
  const pin =
    pinnedUntil === null
      ? ''
      : `\n\n${wrap(
          `Restored objects remain until ${renderTime(pinnedUntil)}, regardless of the target's rules. To apply the rules again: clinic-mirror undo ${run} --release`,
        )}`;
  return `${head}\n\n${renderTable(columns, rows)}${pin}`;
}

const WARNING_TEXTS: Readonly<Record<ForgetWarning, string>> = {
  'clinic-has-no-patient':
    'The clinic has no patient with this id. Appointments and invoices that the clinic no longer lists were found only if a CRM links them to the contact.',
  'patient-unread': 'The connection has no permission to read patients: only appointments show the patient.',
  'patient-unusable': 'The clinic has the patient, but the patient record is not usable.',
  'appointments-partial': 'The list of appointments was incomplete: repeat the command later.',
  'invoices-partial': 'The list of invoices was incomplete: repeat the command later.',
  'invoices-unread': 'The connection has no permission to read invoices: invoices were not searched.',
  'target-not-searched':
    'A target could not be searched for objects without a stored link. Repeat the command when the target is reachable.',
  'still-in-clinic': 'The clinic still has the patient. The tombstone excludes the patient from every target.',
  'opt-outs-stay': 'The opt-outs of the patient remain, as keyed hashes, to protect the patient.',
  'erasures-wait': 'The erasure is not complete. The daemon continues; run the same command to see the progress.',
};

/** Default number of receipts. */
const SHOWN_RECEIPTS = 100;

const REACHES = { wholly: 'complete', bin: "the vendor's bin keeps a copy for some time" } as const;

const TRACES: Readonly<Record<keyof ErasedTraces, string>> = {
  journalLines: 'journal lines',
  pins: 'pins',
  holds: 'records in holds',
  auditFindings: 'audit and guard notes',
  reminders: 'reminders',
  answerLinks: 'answer links',
  examples: 'report examples',
};

/** Renders the data that `forget` would erase, and the next command. */
export function renderForgetPreview(preview: ForgetPreview): string {
  const { patients } = preview;
  if (patients !== null && patients.length > 1)
    return `${patients.length} patients have this contact. Repeat the command with one id:\n\n${patients.join('\n')}`;
  const { tenant, isForgotten, appointments, invoices, upcoming, reminders, answerLinks, targets, warnings } = preview;
  const columns = ['target', 'connector', 'known objects', 'to search', 'reach'];
  const rows = targets.map(({ target, connector, linked, toLookFor, reach }) => [
    target,
    connector,
    linked,
    toLookFor,
    REACHES[reach],
  ]);
  return [
    `${patients?.length === 0 ? `Messages of a patient of ${tenant} whose id is unknown` : `One patient of ${tenant}`}; nothing was written.${isForgotten ? ' A tombstone already exists.' : ''}`,
    wrap(
      `Found: ${appointments} appointments, ${invoices} invoices, ${reminders} reminders, ${answerLinks} answer links. ${upcomingLine(upcoming)}`,
    ),
    ...(rows.length === 0 ? [] : [renderTable(columns, rows)]),
    ...warnings.map((warning) => wrap(WARNING_TEXTS[warning])),
    'To continue, run the same command with --yes.',
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
    failure === null ? REACHES[reach] : `not complete: ${failure}`,
  ]);
  const traces = Object.entries(TRACES).flatMap(([name, words]) => {
    const count = state[name as keyof ErasedTraces];
    return count === 0 ? [] : [`${count} ${words}`];
  });
  return [
    `Receipt ${receipt} of ${tenant}, ${renderTime(at)}\nTombstone ${tombstone ?? 'none: the id is unknown'}`,
    renderTable(columns, rows),
    wrap(`Deleted from the state: ${traces.join(', ') || 'nothing'}. ${upcomingLine(upcoming)}`),
    ...warnings.map((warning) => wrap(WARNING_TEXTS[warning])),
  ].join('\n\n');
}

function upcomingLine(upcoming: number): string {
  if (upcoming === 0) return 'No future appointments are removed from calendars.';
  return `Future appointments removed from calendars: ${upcoming}. The clinic keeps them.`;
}

/** Renders receipts as a table, erased and pending data, and the key for their signatures. */
export function renderReceipts({
  publicKey,
  receipts,
}: {
  publicKey: string;
  receipts: readonly ForgetReceipt[];
}): string {
  if (receipts.length === 0) return `No patient was forgotten.\n\n${publicKey}`;
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
  return [renderTable(columns, rows), ...more, '', publicKey].join('\n');
}
