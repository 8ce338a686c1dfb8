import { renderTable } from '../../src/cli/table.ts';
import type { CreatesResult } from './creates.ts';
import type { CrmResults } from './crm/crms.ts';
import { isExactCrm, type Tally } from './crm/judge.ts';
import type { FlushResult } from './flush.ts';
import type { KillResult } from './kills.ts';
import type { Totals } from './scene.ts';
import type { StopResult } from './stop.ts';

/** All that was measured; a part that was not asked for is null. */
export interface FaultResult {
  kills: KillResult | null;
  flush: FlushResult | null;
  creates: CreatesResult | null;
  stop: StopResult | null;
  seconds: number;
  ok: boolean;
}

type Row = [trial: string, figures: string, google: string, caldav: string, verdict: string];

/** The result as a person reads it. */
export function renderFaults(result: FaultResult): string {
  const columns = ['trial', 'figures', 'Google', 'CalDAV', 'verdict'].map((heading) => ({ heading }));
  const rows = [...killRows(result), ...flushRows(result), ...stopRows(result), ...createRows(result)];
  return [
    renderTable(columns, rows),
    '',
    'Google and CalDAV: events read back, doubles, missing. One more cycle ran after each fault.',
    ...crmLines(result),
    `${result.ok ? 'All as it should be' : 'NOT as it should be'}, ${result.seconds} seconds.`,
  ].join('\n');
}

const CRM_HEADINGS = ['trial', 'CRM', 'contacts', 'activities', "strangers' records", 'verdict'];
const CRM_NAMES = { hubspot: 'HubSpot', salesforce: 'Salesforce' } as const;

function crmLines({ kills, flush, stop }: FaultResult): string[] {
  const rows = [
    ...(kills === null ? [] : crmRows(`${kills.runs} × SIGKILL`, kills.crm)),
    ...(flush?.runs ?? []).flatMap(({ crm, crmWrites }) => crmRows(`FLUSHALL, ${crmWrites} rows written`, crm)),
    ...(stop?.runs ?? []).flatMap(({ crm }) => crmRows('SIGTERM', crm)),
  ];
  if (rows.length === 0) return [];
  const table = renderTable(
    CRM_HEADINGS.map((heading) => ({ heading })),
    rows,
  );
  return ['', table, '', 'CRMs: records read back, doubles, missing, wrong in a property or in whose they are.', ''];
}

function crmRows(trial: string, results: CrmResults): string[][] {
  const text = ({ remoteRecords, duplicates, missing, wrong }: Tally) =>
    [remoteRecords, duplicates, missing, wrong].join(', ');
  return (['hubspot', 'salesforce'] as const).map((vendor) => {
    const { contacts, activities, strangers } = results[vendor];
    const visits = activities.records + activities.remoteRecords === 0 ? '–' : text(activities);
    const others = `${strangers.records}, ${strangers.changed} changed`;
    return [trial, CRM_NAMES[vendor], text(contacts), visits, others, verdict(isExactCrm(results[vendor]))];
  });
}

function killRows({ kills }: FaultResult): Row[] {
  if (kills === null) return [];
  const { pull, plan, push, after } = kills.diedIn;
  const { median, longest } = kills.recoverySeconds;
  return [
    [
      `${kills.runs} × SIGKILL`,
      `in pull ${pull}, plan ${plan}, push ${push}, idle ${after}; back in ${median.toFixed(1)} s (≤ ${longest.toFixed(1)})`,
      ...totalsOf(kills.totals),
      verdict(kills.ok),
    ],
  ];
}

function flushRows({ flush }: FaultResult): Row[] {
  return (flush?.runs ?? []).map((run) => [
    'FLUSHALL',
    `${run.logins}: ${run.creates} creates, ${run.writes} writes`,
    ...totalsOf(run.totals),
    verdict(run.ok),
  ]);
}

function stopRows({ stop }: FaultResult): Row[] {
  return (stop?.runs ?? []).map((run) => [
    'SIGTERM',
    `exit ${run.exitCode} after ${run.secondsToExit.toFixed(1)} s, ${run.pendingAtStop} waited`,
    ...totalsOf(run.totals),
    verdict(run.ok),
  ]);
}

function createRows({ creates }: FaultResult): Row[] {
  return (creates?.calendars ?? []).map((cost) => [
    'first creates',
    `${cost.requests} requests of ${cost.allowed} allowed, ${cost.quietRequests} when quiet`,
    `${cost.remoteEvents}, ${cost.duplicates}, ${cost.missing}`,
    '–',
    verdict(creates?.ok === true),
  ]);
}

function totalsOf(totals: Totals): [google: string, caldav: string] {
  const text = (kind: keyof Totals) => {
    const { remoteEvents, duplicates, missing } = totals[kind];
    return `${remoteEvents}, ${duplicates}, ${missing}`;
  };
  return [text('google-calendar'), text('caldav')];
}

function verdict(ok: boolean): string {
  return ok ? 'ok' : 'WRONG';
}
