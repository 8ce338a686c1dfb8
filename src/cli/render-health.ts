import { DECISIONS } from '../control/explain.ts';
import type { FailingRecord, HealthView, TargetHealth } from '../control/health.ts';
import { fieldName } from '../documents/names.ts';
import { render } from '../messages/message.ts';
import { sentenceOfRemark } from '../model/snapshots.ts';
import { firstRows } from './output.ts';
import { renderConnection } from './render-status.ts';
import { renderAge, renderTable, renderTime, wrap } from './table.ts';

/** Rows shown per list. The output gives only the number of the remaining rows. */
const SHOWN_RECORDS = 20;
const INDENT = '  ';

/** Words for rule codes. */
const WHY: Readonly<Record<string, string>> = {
  agenda: render(DECISIONS.agenda),
  treatment: 'its treatment is not shown',
  'blocked-time': 'blocked time, of no patient',
  status: 'its status is not shown',
  'no-consent': 'the patient has not given, or has withdrawn, the consent that this target asks for',
  inactive: 'the clinic has closed the patient',
  forgotten: 'an operator had the patient forgotten',
  'no-patient': 'it belongs to no patient',
  'patient-left-out': "the patient is left out of the contacts' target",
  'patient-vanished': 'the clinic has the patient no more',
  'patient-unknown': 'the list of patients does not show the patient (yet): it stays as it is',
  'contact-held': "a person is to decide on the contact's removal, or rejected it: it stays as it is",
  'contact-unwritten': 'its contact is not written yet: it waits for that',
  'history-unread': 'what derived properties are computed from was not read whole: it stays as it is',
  'expression-too-slow': 'an expression of the mapping took too long: it stays as it is',
  'expression-failed': 'an expression of the mapping failed: it stays as it is',
  'expression-wrong-type': 'an expression of the mapping gave something else than its kind: it stays as it is',
};

/** Renders the lists in sync, excluded and failing of each target. */
export function renderHealth({ tenant, asOf, connections, remarks = [], targets }: HealthView): string {
  const columns = ['target', 'connector', 'follows', 'in sync', 'excluded', 'failing', 'pending', 'by hand', 'held'];
  const rows = targets.map((target) => [
    target.target,
    target.connector,
    target.stream,
    target.inSync,
    sum(target.excluded.counts),
    target.failing.length,
    target.pending,
    target.changedByHand,
    target.held,
  ]);
  const lists = targets.flatMap((target) => listsOf(target, asOf));
  const logins = connections.map((connection) => line(`login ${renderConnection(connection, asOf)}`));
  const shown = remarks.map((remark) => wrap(render(sentenceOfRemark(remark)), INDENT));
  return [`${tenant} as of ${renderTime(asOf)}`, ...logins, ...shown, '', renderTable(columns, rows), ...lists].join(
    '\n',
  );
}

function listsOf(target: TargetHealth, asOf: number): string[] {
  const lines: string[] = [];
  if (target.unread !== null) lines.push(line(`Not read now (${target.unread}): excluded records are not known.`));
  lines.push(...countLine('Held otherwise than it was sent', target.heldOtherwise));
  lines.push(...countLine('Left empty, since it is no telephone number', target.unusable));
  for (const [property, records] of Object.entries(target.refusedThere))
    lines.push(
      ...recordLines(`Refuse in the CRM itself (${property}), and stay so until it is taken back there`, records),
    );
  lines.push(...recordLines('Copied by a person; the copies go when the record does', target.copied));
  lines.push(...excludedLines(target), ...failingLines(target.failing, asOf));
  return lines.length === 0 ? [] : ['', `${target.target}:`, ...lines];
}

function whyOf(code: string): string {
  if (code.startsWith('egress-')) return `it would tell more of the patient than it may: it stays as it is (${code})`;
  return WHY[code] ?? code;
}

function countLine(what: string, counts: Readonly<Record<string, number>>): string[] {
  const properties = Object.entries(counts).map(([name, count]) => `${fieldName(name)} (${count})`);
  return properties.length === 0 ? [] : [line(`${what}: ${properties.join(', ')}`)];
}

function excludedLines({ excluded: { counts, records } }: TargetHealth): string[] {
  return Object.entries(counts).flatMap(([code, count]) => {
    const ids = records.filter(({ why }) => why === code).map(({ record }) => record);
    const head = line(`Excluded, ${count}: ${whyOf(code)}`);
    return ids.length === 0 ? [head] : [head, idsLine(ids)];
  });
}

function recordLines(what: string, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [line(`${what}, ${ids.length}:`), idsLine(ids)];
}

function idsLine(ids: readonly string[]): string {
  const { shown, more } = firstRows(ids, SHOWN_RECORDS);
  return wrap([...shown, ...more].join(' '), INDENT + INDENT);
}

function failingLines(failing: readonly FailingRecord[], asOf: number): string[] {
  if (failing.length === 0) return [];
  const columns = ['record', 'why', 'since', 'tries', 'next try'];
  const { shown, more } = firstRows(failing, SHOWN_RECORDS);
  const rows = shown.map(({ record, why, sinceAt, attempts, nextTryAt, parked }) => [
    record,
    parked ? `${why} (waits for other data or a person)` : why,
    `${renderAge(sinceAt, asOf)} ago`,
    attempts,
    renderTime(nextTryAt),
  ]);
  const details = shown.flatMap(({ record, about, page }) => [
    ...(about === null && page === null ? [] : [wrap(`${record}: ${about ?? 'its page'}`, INDENT + INDENT)]),
    // URLs are not wrapped, so that the user can open the URL.
    ...(page === null ? [] : [`${INDENT}${INDENT}${INDENT}${page}`]),
  ]);
  const rest = more.map((text) => `${INDENT}${INDENT}${text}`);
  return [line(`Failing, ${failing.length}:`), renderTable(columns, rows, INDENT + INDENT), ...details, ...rest];
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function line(text: string): string {
  return wrap(text, INDENT);
}
