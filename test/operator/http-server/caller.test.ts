import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callerOf, networkOf, plainAddress, trustedBy } from '../../../src/operator/http-server/caller.ts';

const isTrusted = trustedBy(() => ['10.0.0.0/8']);
const callerBehind = (peer: string, forwarded?: string | string[]) =>
  callerOf(
    { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage,
    isTrusted,
  );

test.each([
  ['203.0.113.7', undefined, '203.0.113.7'],
  ['203.0.113.7', '198.51.100.1', '203.0.113.7'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', '192.0.2.66, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
  ['10.0.0.1', ['192.0.2.66', '198.51.100.1'], '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['::ffff:10.0.0.1', '[2001:db8::7]:443', '2001:db8:0:0::/64'],
])('of a request from %s that was forwarded for %j the client is %s', (peer, forwarded, client) => {
  expect(callerBehind(peer, forwarded)).toBe(client);
});

test('whatever a client writes before what the proxy adds, it is the client that the proxy saw', () => {
  const written = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[ -~]{0,12}$/)), { maxLength: 20 });
  fc.assert(
    fc.property(written, (parts) => {
      expect(callerBehind('10.0.0.1', [...parts, '198.51.100.1'].join(', '))).toBe('198.51.100.1');
    }),
  );
});

test('all IP addresses of one /64 are one client, and those of another network are not', () => {
  const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
  const half = fc.array(group, { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(half, half, half, (network, one, other) => {
      const first = networkOf([...network, ...one].join(':'));
      expect(networkOf([...network, ...other].join(':'))).toBe(first);
      expect(first === networkOf([...other, ...one].join(':'))).toBe(network.join() === other.join());
    }),
  );
  expect(networkOf('2001:db8::1')).toBe(networkOf('2001:0db8:0:0:ffff::'));
});

test.each([
  [' [2001:DB8::7]:443', '2001:db8::7'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:80', '192.0.2.1'],
  ['2001:db8::7', '2001:db8::7'],
])('"%s" is the address %s', (text, address) => {
  expect(plainAddress(text)).toBe(address);
});
