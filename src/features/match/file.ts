import { fromCsv, toCsv } from '../../core/model/csv.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { Person } from '../../domain/matching.ts';
import type { TargetIdentity } from '../../engine/identity.ts';
import { message, render, type Text } from '../../messages/message.ts';
import type { MatchRow, Pair } from '../../operator/control/matching.ts';

/** An approved pair, with its line in the file. */
export interface ApprovedPair extends Pair {
  line: number;
}

/** Approval in the decision column. */
const ADOPT = 'adopt';
/** Values that leave a pair unchanged. */
const SKIP_WORDS: ReadonlySet<string> = new Set(['', 'leave']);

const DECISION = 'decision';
const PAIR = 'pair';
/** Prefix of an encrypted pair, so that spreadsheets do not parse a number or formula. */
const PAIR_PREFIX = 'pair.';
const LISTED_LINES = 10;

const HEADINGS = [
  ...[DECISION, 'ambiguous', 'same', 'differs'],
  ...['patient name', 'patient birth date', 'patient email', 'patient phone'],
  ...['contact name', 'contact birth date', 'contact email', 'contact phone'],
  ...['would change', 'would empty', 'contact page', PAIR],
];

/** Returns the decision file: one line per pair. */
export function toMatchFile(rows: readonly MatchRow[], identity: Pick<TargetIdentity, 'sealed'>): string {
  const lines = rows.map((row) => {
    const { recordId, remoteId, patientSeen, contactSeen } = row.pair;
    const sealed = identity.sealed(JSON.stringify([recordId, remoteId, patientSeen, contactSeen]));
    return [
      ...['', ambiguityOf(row), row.same.join(', '), row.differs.join(', ')],
      ...[...cellsOf(row.patient), ...cellsOf(row.contact)],
      ...[row.changes.join(', '), row.clears.join(', '), row.page ?? '', `${PAIR_PREFIX}${sealed}`],
    ];
  });
  return toCsv([HEADINGS, ...lines]);
}

function ambiguityOf({ contacts, patients }: MatchRow): string {
  const several = [
    ...(contacts > 1 ? [render(message('match-file.contacts', { count: contacts }))] : []),
    ...(patients > 1 ? [render(message('match-file.patients', { count: patients }))] : []),
  ];
  return several.join('; ');
}

function cellsOf({ name, birthDate, addresses, phones }: Person): string[] {
  return [name, birthDate ?? '', addresses.join(' '), phones.join(' ')];
}

/**
 * Returns the approved pairs of a decision file.
 * @throws MirrorError `settings`, code `match-file-unusable`, with the lines; the complete file is then ignored
 */
export function fromMatchFile(text: string, identity: Pick<TargetIdentity, 'unsealed'>): ApprovedPair[] {
  const [headings = [], ...rows] = fromCsv(text);
  const [decisionAt, pairAt] = [DECISION, PAIR].map((heading) => headings.indexOf(heading)) as [number, number];
  if (decisionAt < 0 || pairAt < 0) throw unusable(message('match-file.columns', { one: DECISION, other: PAIR }));
  const decided = rows.map((row, index) => ({
    decision: (row[decisionAt] ?? '').trim().toLowerCase(),
    pair: row[pairAt] ?? '',
    line: index + 2,
  }));
  const strange = decided.filter(({ decision }) => decision !== ADOPT && !SKIP_WORDS.has(decision));
  if (strange.length > 0) throw unusable(message('match-file.decision', { lines: linesOf(strange), word: ADOPT }));
  const approved = decided.filter(({ decision }) => decision === ADOPT);
  const pairs = approved.map(({ pair, line }) => ({ line, read: readPair(pair, identity) }));
  const unread = pairs.filter(({ read }) => read === null);
  if (unread.length > 0) throw unusable(message('match-file.pair', { lines: linesOf(unread), column: PAIR }));
  const whole = pairs.flatMap(({ line, read }) => (read === null ? [] : [{ ...read, line }]));
  const twice = [...severalOf(whole, 'recordId'), ...severalOf(whole, 'remoteId')];
  if (twice.length > 0) {
    throw unusable(message('match-file.twice', { lines: linesOf(twice) }));
  }
  return whole;
}

function readPair(cell: string, { unsealed }: Pick<TargetIdentity, 'unsealed'>): Pair | null {
  const text = cell.trim().startsWith(PAIR_PREFIX) ? unsealed(cell.trim().slice(PAIR_PREFIX.length)) : null;
  if (text === null) return null;
  const [recordId, remoteId, patientSeen, contactSeen] = JSON.parse(text) as [string, string, string, string];
  return { recordId, remoteId, patientSeen, contactSeen };
}

function severalOf(pairs: readonly ApprovedPair[], side: 'recordId' | 'remoteId'): ApprovedPair[] {
  return [...Map.groupBy(pairs, (pair) => pair[side]).values()].filter(({ length }) => length > 1).flat();
}

function linesOf(rows: readonly { line: number }[]): Text {
  const lines = [...new Set(rows.map(({ line }) => line))];
  const listed = lines.slice(0, LISTED_LINES).join(', ');
  const count = lines.length - LISTED_LINES;
  return count > 0
    ? message('match-file.more-lines', { lines: listed, count })
    : message('match-file.lines', { lines: listed });
}

function unusable(why: Text): MirrorError {
  return new MirrorError(message('match-file-unusable', { why }), {
    actor: 'settings',
    code: 'match-file-unusable',
    retry: 'never',
    remedy: message('match-file-unusable.remedy'),
  });
}
