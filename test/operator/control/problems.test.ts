import { describe, expect, test } from 'vitest';
import { type Actor, MirrorError, storedError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { TargetFailure } from '../../../src/engine/store.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { loginOf, problems, targetOf } from './status-of.ts';

const RESTING = failureOf('throttled', 'remote');

function failureOf(code: string, actor: Actor, remedy?: string): TargetFailure {
  const error = new MirrorError('the calendar is gone', { actor, code, retry: 'later', remedy });
  return { ...storedError(error), sinceAt: NOW - HOUR_MS };
}

test('a clinic that works or is paused by an operator has no problem', () => {
  expect(problems({})).toEqual([]);
  expect(problems({ paused: true, targets: [targetOf('paused')], connections: [loginOf('needs-login')] })).toEqual([]);
  expect(
    problems({ targets: (['writing', 'first-sync'] as const).map((reason) => targetOf(reason, { pending: 3 })) }),
  ).toEqual([]);
});

describe('a pause after rate-limit refusals', () => {
  const pause = { code: 'rate-limited', sinceAt: NOW - MINUTE_MS, untilAt: NOW + 15 * MINUTE_MS } as const;
  const resting = targetOf('backing-off', {
    failure: { ...RESTING, code: 'rate-limited' },
    nextTryAt: NOW + MINUTE_MS,
  });

  test.each(['rate-limited', 'client-rate-limited'] as const)(
    'of the clinic is reported with the next try: %s',
    (code) => {
      const connections = [loginOf('connected', { connection: 'clinic', kind: 'clinic', pause: { ...pause, code } })];
      expect(problems({ connections })).toMatchObject([
        { subject: 'clinic', code, health: 'retrying', sinceAt: pause.sinceAt, nextTryAt: pause.untilAt, next: null },
      ]);
    },
  );

  test('of a vendor account is reported by its paused targets, otherwise by its connection', () => {
    const connections = [loginOf('connected', { pause })];
    expect(problems({ connections })).toMatchObject([{ subject: 'connection dav', nextTryAt: pause.untilAt }]);
    expect(problems({ connections, targets: [resting] })).toMatchObject([
      { subject: 'target room', code: 'rate-limited', nextTryAt: NOW + MINUTE_MS },
    ]);
  });
});

test('a connection that was refused once is reported with the next try', () => {
  const login = loginOf('retrying', { nextTryAt: NOW + MINUTE_MS });
  expect(problems({ connections: [login] })).toMatchObject([
    { subject: 'connection dav', code: 'login-refused-once', health: 'retrying', nextTryAt: NOW + MINUTE_MS },
  ]);
});

describe('a connection', () => {
  test.each<[ConnectionStatus['state'], Partial<ConnectionStatus>, string, string]>([
    ['needs-login', { reason: 'interaction-required' }, 'interaction-required', 'clinic-mirror login aurora dav'],
    ['never', {}, 'not-connected', 'clinic-mirror login aurora dav'],
    ['no-tenant', { reason: 'tenant-gone' }, 'tenant-gone', 'clinic-mirror login aurora dav'],
    ['unconfirmed', {}, 'account-unconfirmed', 'clinic-mirror accept-account aurora dav <account>'],
    ['connected', { missingScopes: ['calendar.app.created'] }, 'scope-missing', 'clinic-mirror login aurora dav'],
  ])('that is %s', (state, changes, code, next) => {
    expect(problems({ connections: [loginOf(state, changes)] })).toMatchObject([
      { subject: 'connection dav', health: 'action-required', code, next },
    ]);
  });

  test.each([
    ['state-damaged', 'was changed, moved or encrypted with another key'],
    ['sealing-key-unknown', 'the encryption key has changed'],
  ])('whose stored credential does not open has the cause: %s', (reason, sentence) => {
    const [problem] = problems({ connections: [loginOf('needs-login', { reason })] });
    expect(problem).toMatchObject({ code: reason, sentence: expect.stringContaining(sentence) });
  });

  test('without tokens is not reported', () => {
    expect(problems({ connections: [loginOf('static')] })).toEqual([]);
  });
});

test('problems of configuration, state and alerts are reported too, required actions first', () => {
  const correct = { remedy: 'correct it', texts: { message: 'refused', remedy: 'correct it' } };
  const state = {
    durability: 'late',
    directory: 'kept',
    wentBackAt: null,
    wentBackTo: null,
    writesLostAt: null,
  } as const;
  const found = problems(
    {
      uncertainty: { code: 'state-lost', sinceAt: NOW },
      loss: { code: 'state-lost', sinceAt: NOW },
      reminders: {
        waiting: 2,
        closedChannels: [{ channel: 'sms', code: 'webhook-gone', at: NOW }],
        wrong: [],
        replies: null,
        hold: null,
      },
      triggers: {
        ...{ waiting: 1, closed: [{ endpoint: 'erp', code: 'webhook-gone', at: NOW }], off: [] },
        refusing: [{ endpoint: 'portal', code: 'webhook-unauthorized', ...correct, sinceAt: NOW }],
      },
    },
    {
      state,
      unusable: [{ tenant: 'corallo', faults: 2 }],
      refused: [{ tenant: 'aurora', sinceAt: NOW, faults: [], more: 0 }],
      awaitsRestart: ['redis'],
      alertFailures: [
        { channel: 'email', code: 'smtp-busy', sinceAt: NOW },
        { channel: 'email', code: 'state-damaged', sinceAt: NOW },
      ],
    },
  );
  expect(found.map(({ subject, code, health }) => `${subject}: ${code}, ${health}`)).toEqual([
    'state: state-lost, action-required',
    'configuration: tenant-set-aside, action-required',
    'configuration: file-refused, action-required',
    'configuration: restart-awaited, action-required',
    'alerts by email: smtp-busy, action-required',
    'alerts by email: state-damaged, action-required',
    'reminders by sms: webhook-gone, action-required',
    'triggers to erp: webhook-gone, action-required',
    'triggers to portal: webhook-unauthorized, action-required',
    'state: redis-late, retrying',
  ]);
  for (const { next } of found) expect(next ?? '').not.toContain('<tenant>');
});

test.each([
  ['in the future is shown', 1_000, 1_000],
  ['that is due has no time', 0, null],
  ['that passed has no time', -HOUR_MS, null],
])('an attempt %s', (_when, inMs, shownInMs) => {
  const [found] = problems({ connections: [loginOf('retrying', { nextTryAt: NOW + inMs })] });
  expect(found).toMatchObject({ code: 'login-refused-once', nextTryAt: shownInMs === null ? null : NOW + shownInMs });
});
