import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readGoogleNotification } from '../../../src/connectors/google-calendar/notifications.ts';

const read = (headers: Record<string, string | undefined>, body = '') =>
  readGoogleNotification({ query: new URLSearchParams(), headers, body });

describe('what Google posts', () => {
  test.each([
    ['sync', 'opened'],
    ['exists', 'changed'],
    ['not_exists', 'changed'],
  ])('%s means %s, under the secret', (state, event) => {
    const headers = { 'x-goog-resource-state': state, 'x-goog-channel-token': 'secret', 'x-goog-channel-id': 'other' };
    expect(read(headers, 'whatever')).toEqual({ kind: 'events', events: [{ secret: 'secret', event }] });
  });

  test.each([
    [{}],
    [{ 'x-goog-resource-state': 'exists' }],
    [{ 'x-goog-channel-token': 'secret' }],
    [{ 'x-goog-resource-state': 'update', 'x-goog-channel-token': 'secret' }],
    [{ 'x-goog-resource-state': 'constructor', 'x-goog-channel-token': 'secret' }],
  ])('%j is unreadable', (headers) => {
    expect(read(headers)).toEqual({ kind: 'unreadable' });
  });

  test('never throws, whatever comes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), fc.string(), fc.string(), (headers, state, body) => {
        const { kind } = read({ ...headers, 'x-goog-resource-state': state }, body);
        expect(['events', 'unreadable']).toContain(kind);
      }),
    );
  });
});
