import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readGraphNotification } from '../../../src/connectors/outlook-calendar/notifications.ts';

const read = (body: unknown, query = '') =>
  readGraphNotification({
    query: new URLSearchParams(query),
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const change = (secret: string, changes: object = {}) => ({
  subscriptionId: 'a',
  changeType: 'updated',
  clientState: secret,
  resource: 'Users/x/Events/y',
  ...changes,
});

describe('the check of an address', () => {
  test.each([
    ['Validation%3A+Testing+client', 'Validation: Testing client'],
    ['a%2Bb%25c%26d%3De', 'a+b%c&d=e'],
    ['100%', '100%'],
    ['%C3%BC%3Cscript%3E', 'ü<script>'],
  ])('%s wants its token back, decoded once', (token, answer) => {
    expect(read('', `validationToken=${token}`)).toEqual({ kind: 'handshake', answer });
  });

  test('answers any token as it was before it was encoded', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (token) => {
        const query = `validationToken=${encodeURIComponent(token)}`;
        expect(read('', query)).toEqual({ kind: 'handshake', answer: token });
      }),
    );
  });
});

describe('what Graph posts', () => {
  test('may hold several notifications, each with its own secret', () => {
    const value = [change('one'), change('two', { changeType: 'deleted' }), change('one', { changeType: 'created' })];
    expect(read({ value, validationTokens: ['x'] })).toEqual({
      kind: 'events',
      events: ['one', 'two', 'one'].map((secret) => ({ secret, event: 'changed' })),
    });
  });

  test.each([
    ['reauthorizationRequired', 'extend'],
    ['subscriptionRemoved', 'ended'],
    ['missed', 'missed'],
  ])('%s of a lifecycle means %s', (lifecycleEvent, event) => {
    const value = [{ subscriptionId: 'a', clientState: 'secret', lifecycleEvent }];
    expect(read({ value })).toEqual({ kind: 'events', events: [{ secret: 'secret', event }] });
  });

  test('is read as far as it can be: what is odd spoils nothing', () => {
    const odd = [null, 7, 'x', {}, { clientState: 'secret' }, { clientState: 5, changeType: 'updated' }];
    const unknown = { clientState: 'secret', lifecycleEvent: 'somethingNew', changeType: 'updated' };
    const value = [...odd, unknown, change(''), change('secret', { clientState: null }), change('good')];
    expect(read({ value })).toEqual({ kind: 'events', events: [{ secret: 'good', event: 'changed' }] });
    expect(read({ value: odd })).toEqual({ kind: 'unreadable' });
  });

  test('never throws, whatever comes', () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json({ maxDepth: 2 }).map((value) => `{"value":[${value}]}`),
    );
    fc.assert(
      fc.property(body, fc.string(), (text, query) => {
        expect(['handshake', 'events', 'unreadable']).toContain(read(text, query).kind);
      }),
    );
  });
});
