import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { GoogleSandbox } from '../sandbox/google/index.ts';
import { listenNode, type RunningServer } from '../sandbox/kit/listen.ts';
import { escapeHtml } from '../sandbox/kit/oauth/pages.ts';
import { calendarsOf, type GoogleEvent, type GoogleTime } from './read-targets.ts';

/** What the page shows. */
export interface DeskPageParts {
  /** Its first clinic is shown. */
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  /** Whose calendars are shown. */
  account: string;
}

/** Actions at the front desk. */
const ACTS = {
  booked: 'Book an appointment',
  moved: 'Move an appointment',
  cancelled: 'Cancel an appointment',
} as const;
type Act = keyof typeof ACTS;

/** Zone of the sample clinics. */
const ZONE = 'Europe/Rome';
const REFRESH_SECONDS = 3;
/** No script and nothing from elsewhere. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'";

/** Serves one page on loopback: a front desk to change the clinic's appointments, next to the calendars that follow. */
export async function startDeskPage(parts: DeskPageParts): Promise<RunningServer> {
  let done = 'Nothing yet.';
  const server = createServer((request, response) => {
    const answer = async () => {
      if (request.method !== 'POST') return show(response, await page(parts, done));
      done = work(parts.clinic, new URLSearchParams(await text(request)).get('act'));
      response.writeHead(303, { location: '/' }).end();
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  return await listenNode(server);
}

/** Carries out an action of the front desk. @returns a description of the result */
function work(clinic: ClinicSandbox, act: string | null): string {
  if (act === null || !Object.hasOwn(ACTS, act)) return 'Nothing: the front desk does not do that.';
  const tenant = clinic.tenants[0]?.id ?? '';
  const id = act === 'cancelled' ? cancelNext(clinic, tenant) : clinic.simulate(tenant, { [act as Act]: 1 })[0]?.id;
  const found = [...clinic.appointments(tenant)].find((one) => one.id === id);
  if (found === undefined) return 'Nothing: no appointment is ahead.';
  const begins = new Date(found.start).toLocaleString('sv', { timeZone: ZONE, dateStyle: 'short', timeStyle: 'short' });
  return `The appointment ${id} was ${act}; it begins at ${begins}.`;
}

/** Cancels the next appointment. A deletion instead would take effect only after two reads. */
function cancelNext(clinic: ClinicSandbox, tenant: string): string | undefined {
  const [next] = [...clinic.appointments(tenant)]
    .filter(({ start, status, deleted }) => start > Date.now() && status !== 'Cancelled' && !deleted)
    .toSorted((one, other) => one.start - other.start);
  if (next !== undefined) clinic.cancel(tenant, next.id);
  return next?.id;
}

function show(response: ServerResponse, html: string): void {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY };
  response.writeHead(200, { ...headers, 'cache-control': 'no-store' }).end(html);
}

async function page({ google, account }: DeskPageParts, done: string): Promise<string> {
  const calendars = await calendarsOf(google, account);
  const buttons = Object.entries(ACTS).map(([act, label]) => `<button name="act" value="${act}">${label}</button>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}"><title>Front desk and calendar</title><style>${STYLE}</style></head><body>
<section><h1>Front desk of the clinic</h1>
<form method="post">${buttons.join('\n')}</form>
<p>Done last: ${escapeHtml(done)}</p></section>
<section><h1>Calendars of ${escapeHtml(account)}</h1>
${calendars.map(calendarPart).join('\n')}</section>
</body></html>
`;
}

function calendarPart({ summary, events }: { summary: string; events: readonly GoogleEvent[] }): string {
  const sorted = events.toSorted((one, other) => timeOf(one.start).localeCompare(timeOf(other.start)));
  const rows = sorted.map(
    ({ start, end, ...event }) =>
      `<tr><td>${shown(start)}</td><td>${shown(end).slice(-5)}</td><td>${escapeHtml(event.summary ?? '')}</td></tr>`,
  );
  const table = `<table><tr><th>Begins</th><th>Ends</th><th>Title</th></tr>\n${rows.join('\n')}</table>`;
  const count = events.length === 1 ? '1 event' : `${events.length} events`;
  return `<h2>${escapeHtml(summary)}: ${count}</h2>\n${events.length === 0 ? '' : table}`;
}

function timeOf({ dateTime, date = '' }: GoogleTime): string {
  return dateTime ?? date;
}

/** The day and the time of day, as the calendar's own clocks show them. */
function shown(time: GoogleTime): string {
  return escapeHtml(timeOf(time).slice(0, 16).replace('T', ' '));
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 44rem; padding: 1.5rem 1rem; }
h1 { font-size: 1.25rem; margin: 1.5rem 0 .5rem; } h2 { font-size: 1rem; margin: 1rem 0 .25rem; }
form { display: flex; flex-wrap: wrap; gap: .5rem; } button { font: inherit; padding: .4rem .8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .75rem .2rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
`;
