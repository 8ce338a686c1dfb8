import { renderAge, renderTable } from '../src/operator/cli/table.ts';
import type { Status, TargetStatus } from '../src/operator/control/status-schemas.ts';
import type { World } from './world.ts';

/** Connectors as people call them, short enough for the table. */
const VENDORS: Readonly<Record<string, string>> = {
  'google-calendar': 'Google',
  'outlook-calendar': 'Outlook',
  caldav: 'CalDAV',
  hubspot: 'HubSpot',
  salesforce: 'Salesforce',
};

const NUMBERS = ['fresh', 'records', 'waits', 'created', 'updated', 'removed', 'held', 'fails', 'HTTP'];
const COLUMNS = [
  ...['target', 'at', 'state'].map((heading) => ({ heading })),
  ...NUMBERS.map((heading) => ({ heading, right: true })),
];

/** What the demonstration's table is made of. */
export interface Picture {
  view: Status;
  /** Requests of the daemon by `<tenant>/<target>`. */
  requests: ReadonlyMap<string, number>;
  /** Changes in the clinics, newest first. */
  changes: readonly string[];
  /** URLs to open; empty before the daemon runs. */
  pages: readonly { name: string; url: string }[];
  world: Pick<World, 'crms' | 'dir'>;
}

/** Renders the table, at most 100 columns wide, and the text after it. */
export function renderPicture({ view, requests, changes, pages, world }: Picture): string {
  const rows = view.tenants.flatMap(({ tenant, targets }) => [
    [tenant],
    ...targets.map((target) => rowOf(target, view.at, requests.get(`${tenant}/${target.target}`) ?? 0)),
  ]);
  return [
    'clinic-mirror demo: two clinics at work, and the calendars and CRMs that follow',
    '',
    ...listOf('In the browser:', pages),
    renderTable(COLUMNS, rows),
    '',
    'In the clinics just now (appointments are read every 10 s, patients once a minute):',
    ...changes.map((change) => `  ${change}`),
    '',
    ...listOf(
      'What the CRMs hold:',
      world.crms.flatMap((crm) => crm.places),
    ),
    `Configuration and log: ${world.dir}`,
    'Ctrl-C ends it.',
  ].join('\n');
}

function rowOf(target: TargetStatus, now: number, requests: number): string[] {
  const { links, pending, created, updated, deleted, held, failing } = target;
  return [
    `  ${target.target}`,
    VENDORS[target.connector] ?? target.connector,
    target.sync,
    renderAge(target.inSyncAsOf, now),
    ...[links, pending, created, updated, deleted, held, failing, requests].map(String),
  ];
}

function listOf(heading: string, places: readonly { name: string; url: string }[]): string[] {
  const width = Math.max(0, ...places.map(({ name }) => name.length));
  const lines = places.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`);
  return places.length === 0 ? [] : [heading, ...lines, ''];
}
