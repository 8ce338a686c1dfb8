import type { ActFacts, AuditEntry, AuditLogCheck } from '../../core/model/acts.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Begin and end of an action. */
interface ShownAct {
  began: AuditEntry;
  ended: AuditEntry | null;
}

/**
 * Renders the audit log: a row for each action, followed by subject and reason.
 * @param changed number of log records that fail verification
 */
export function renderAuditLog(entries: readonly AuditEntry[], changed: number): string {
  const columns = ['record', 'when', 'who', 'what', 'tenant', 'result'];
  const blocks = [...Map.groupBy(entries, ({ chain }) => chain)].map(([chain, own]) => {
    const acts = actsOf(own);
    const [heading = '', rule = '', ...rows] = renderTable(columns, acts.map(rowOf)).split('\n');
    const lines = rows.flatMap((row, index) => [row, ...detailsOf(acts[index] as ShownAct)]);
    return [`Chain ${chain}`, heading, rule, ...lines].join('\n');
  });
  if (blocks.length === 0) blocks.push('No recorded action matches.');
  if (changed > 0) blocks.push(wrap(`Changed records: ${changed} (clinic-mirror audit-log verify).`));
  return blocks.join('\n\n');
}

/** Pairs begin and end of actions, in the order of their begin. */
function actsOf(entries: readonly AuditEntry[]): ShownAct[] {
  const acts = new Map<number, ShownAct>();
  for (const entry of entries) {
    const began = entry.act === null ? undefined : acts.get(entry.act);
    if (began === undefined) acts.set(entry.sequence, { began: entry, ended: null });
    else began.ended = entry;
  }
  return [...acts.values()];
}

function rowOf({ began, ended }: ShownAct): (string | number)[] {
  const { sequence, at, who, verb, tenant } = began;
  const { outcome, code } = ended ?? began;
  const came = code === null ? outcome : `${outcome} (${code})`;
  return [sequence, renderTime(Date.parse(at)), nameOf(who), verb, tenant ?? '–', came];
}

function nameOf({ kind, name, claimed }: AuditEntry['who']): string {
  const recorded = kind === 'os-user' ? name : kind === 'account' || kind === 'holder' ? `${kind} ${name}` : kind;
  return claimed === null ? recorded : `${claimed} (${recorded})`;
}

function detailsOf({ began, ended }: ShownAct): string[] {
  const facts = factsText({ ...began.what, ...ended?.what });
  return [facts, began.why === null ? '' : `why: ${began.why}`]
    .filter((line) => line !== '')
    .map((line) => wrap(line, '       '));
}

function factsText(what: ActFacts): string {
  return Object.entries(what)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

const FAULTS: Readonly<Record<AuditLogCheck['faults'][number]['fault'], string>> = {
  changed: 'was changed',
  misplaced: 'is in the position of another record',
  unlinked: 'does not follow the previous record',
  missing: 'is missing',
  'cut-off': 'is missing at the end, but recorded in Redis',
  replaced: 'differs from the record in Redis',
  absent: 'the chain is not in this directory (--elsewhere, if another host has the chain)',
};

/** Renders the result of a check of the complete log. */
export function renderChainCheck({ chains, faults }: AuditLogCheck): string {
  const lines = chains.map(({ chain, first, last, entries, mac, head }) => {
    const recorded = `Last record in Redis: ${head?.sequence ?? 'none'}`;
    return wrap(`Chain ${chain}: ${entries} records, ${first} to ${last}. ${recorded}. Last MAC: ${mac}`);
  });
  if (chains.length === 0) lines.push('The audit log is empty.');
  const found = faults.map(({ chain, from, to, fault }) => {
    const which = from === null ? '' : from === to ? `, record ${from}` : `, records ${from} to ${to}`;
    return wrap(`FAULT  ${chain}${which}: ${FAULTS[fault]}`);
  });
  const sum =
    faults.length === 0 ? 'Every record is unchanged and follows the previous record.' : `${faults.length} faults.`;
  return [...lines, ...found, sum].join('\n');
}
