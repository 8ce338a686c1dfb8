import type { TriggerEndpointStatus, TriggerEventStatus, TriggerList } from '../../features/triggers/schemas.ts';
import { renderNextRetry, renderTable, renderTime, wrap } from './table.ts';

/** Renders trigger endpoints and their events. */
export function renderTriggers({ tenant, at, everyMinutes, endpoints }: TriggerList): string {
  const columns = ['endpoint', 'event', 'state', 'last read', 'sent', 'pending', 'failed', 'dropped'];
  const rows = endpoints.flatMap((endpoint) => endpoint.events.map((event) => rowOf(endpoint, event)));
  const remarks = endpoints.flatMap((endpoint) => remarksOf(tenant, endpoint, at));
  const table = renderTable(columns, rows);
  const every = `The daemon reads the clinic's lists every ${everyMinutes} ${everyMinutes === 1 ? 'minute' : 'minutes'}.`;
  return [table, ...(remarks.length === 0 ? [] : [remarks.join('\n')]), every].join('\n\n');
}

function rowOf(
  { endpoint, closed, restUntil }: TriggerEndpointStatus,
  status: TriggerEventStatus,
): (string | number)[] {
  const { event, off, sinceAt, readAt, sent, waiting, failing, dropped } = status;
  let state = 'on';
  if (closed !== null) state = 'closed';
  else if (off !== null) state = 'off';
  else if (sinceAt === null) state = 'new';
  else if (restUntil !== null) state = 'retrying';
  return [endpoint, event, state, renderTime(readAt), sent, waiting, failing, dropped];
}

function remarksOf(tenant: string, endpoint: TriggerEndpointStatus, now: number): string[] {
  const { endpoint: name, closed, code, failingSince, restUntil, lastSentAt, events } = endpoint;
  const remarks: string[] = [];
  if (closed !== null)
    remarks.push(`closed since ${renderTime(closed.at)} (${closed.code}); ${remedyOf(tenant, name, closed.code)}`);
  else if (restUntil !== null)
    remarks.push(`failing since ${renderTime(failingSince)} (${code}), ${renderNextRetry(restUntil, now)}`);
  for (const { event, off, failing, lastCode, nextTryAt } of events) {
    if (off !== null) {
      const act = off.remedy === null ? '' : `; ${off.remedy}`;
      remarks.push(`${event} is off since ${renderTime(off.at)} (${off.code})${act}`);
    }
    if (failing > 0 && closed === null && restUntil === null) {
      remarks.push(`${event}: ${failing} failed (${lastCode}), ${renderNextRetry(nextTryAt, now)}`);
    }
  }
  if (lastSentAt !== null) remarks.push(`last sent ${renderTime(lastSentAt)}`);
  return remarks.map((remark) => wrap(`${name}: ${remark}`));
}

/** Returns the remedy for a closed endpoint. */
export function remedyOf(tenant: string, endpoint: string, code: string): string {
  const command = `"clinic-mirror triggers reopen ${tenant} ${endpoint}"`;
  if (code === 'too-many-at-once') return `${command} sends them; with --skip they are dropped`;
  return `after the fix, run ${command}`;
}
