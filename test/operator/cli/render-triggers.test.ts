import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import type { TriggerList } from '../../../src/features/triggers/schemas.ts';
import { remedyOf, renderTriggers } from '../../../src/operator/cli/render-triggers.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { flat } from './arbitraries.ts';

type Endpoint = TriggerList['endpoints'][number];
type Event = Endpoint['events'][number];

const EVENT: Event = {
  ...{ event: 'report.available', sinceAt: NOW, readAt: NOW, off: null, waiting: 0, failing: 0, lastCode: null },
  ...{ nextTryAt: null, sent: 2, dropped: 0, failedTries: 0 },
};
const ENDPOINT = {
  ...{ endpoint: 'portal', closed: null, code: null, failingSince: null, restUntil: null, lastSentAt: null },
  events: [EVENT],
} as unknown as Endpoint;
const CLOSED = { code: 'webhook-gone', at: NOW };
const OFF = { code: 'missing-claim', remedy: 'grant reports.read', at: NOW } as Event['off'];

const shown = (endpoint: Partial<Endpoint>, event: Partial<Event> = {}, everyMinutes = 5) =>
  renderTriggers({
    ...{ tenant: 'aurora', at: NOW, everyMinutes },
    endpoints: [{ ...ENDPOINT, ...endpoint, events: [{ ...EVENT, ...event }] }],
  });

describe('an endpoint', () => {
  test.each([
    ['closed', { closed: CLOSED, restUntil: NOW }, { off: OFF }],
    ['off', {}, { off: OFF, sinceAt: null }],
    ['new', { restUntil: NOW }, { sinceAt: null }],
    ['retrying', { restUntil: NOW }, {}],
    ['on', {}, {}],
  ])('is %s, regardless of the states of lower priority', (state, endpoint, event) => {
    expect(shown(endpoint, event)).toMatch(new RegExp(`^portal +report\\.available +${state} `, 'm'));
  });

  test('that is closed shows the command that opens it, and no next attempt', () => {
    const text = flat(shown({ closed: CLOSED, restUntil: NOW }, { failing: 3, lastCode: 'webhook-gone' }));
    expect(text).toContain('(webhook-gone); after the fix, run "clinic-mirror triggers reopen aurora portal"');
    expect(text).not.toContain('next try');
  });

  test('whose messages fail while it is active has the next attempt of each event', () => {
    const failing = { failing: 3, lastCode: 'webhook-refused', nextTryAt: NOW + MINUTE_MS };
    expect(flat(shown({}, failing))).toContain('portal: report.available: 3 failed (webhook-refused), next retry 2026');
    expect(flat(shown({ restUntil: NOW }, failing))).not.toContain('3 failing');
  });

  test.each([
    ['of the pause', { restUntil: NOW - MINUTE_MS, failingSince: NOW, code: 'webhook-unavailable' }, {}],
    ['of an event', {}, { failing: 3, lastCode: 'webhook-refused', nextTryAt: null }],
  ])('whose retry is due has no next retry in the past, at the end %s', (_which, endpoint, event) => {
    const text = flat(shown(endpoint, event));
    expect(text).toContain('), retry due now');
    expect(text).not.toContain('next retry');
  });

  test('shows the reason for a disabled event and the remedy', () => {
    expect(flat(shown({}, { off: OFF }))).toContain('(missing-claim); grant reports.read');
  });
});

test('the command sends or drops too many documents at once (too-many-at-once)', () => {
  expect(remedyOf('aurora', 'portal', 'too-many-at-once')).toMatch(/sends them; with --skip they are dropped$/);
  expect(remedyOf('aurora', 'portal', 'webhook-gone')).not.toContain('--skip');
});

test('the read interval of lists is shown in whole minutes', () => {
  expect(shown({}, {}, 1)).toMatch(/every 1 minute\.$/);
  expect(shown({}, {}, 2)).toMatch(/every 2 minutes\.$/);
});
