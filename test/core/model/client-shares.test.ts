import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientShares } from '../../../src/core/model/client-shares.ts';

test('an IPv6 network has a share, and its /56 and its /48 each a larger one', () => {
  expect(clientShares('2001:db8:0:12ff::/64', 100)).toEqual([
    { name: '2001:db8:0:12ff::/64', most: 100 },
    { name: '2001:db8:0:1200::/56', most: 150 },
    { name: '2001:db8:0:0::/48', most: 250 },
  ]);
});

test.each(['192.0.2.1', 'browser 7', '', '::1', '2001:db8::/48'])('"%s" has one share', (client) => {
  expect(clientShares(client, 20)).toEqual([{ name: client, most: 20 }]);
});

const group = fc.integer({ min: 0, max: 0xffff });
const most = fc.integer({ min: 1, max: 1_000 });

test('networks share a block exactly if they agree in its bits, and shares grow with the block for any limit', () => {
  const network = fc.tuple(fc.constantFrom(0x2a01, 0x2a02), fc.constant(0), fc.constantFrom(1, 2), group);
  const text = (groups: readonly number[]) => `${groups.map((each) => each.toString(16)).join(':')}::/64`;
  fc.assert(
    fc.property(network, network, most, (one, other, limit) => {
      const [ofOne, ofOther] = [one, other].map((groups) => clientShares(text(groups), limit));
      const isSame48 = one.slice(0, 3).join() === other.slice(0, 3).join();
      const is56 = isSame48 && one[3] >> 8 === other[3] >> 8;
      const shared = ofOne?.map(({ name }, at) => name === ofOther?.[at]?.name);
      expect(shared).toEqual([is56 && one[3] === other[3], is56, isSame48]);
      const [of64 = 0, of56 = 0, of48 = 0] = ofOne?.map((share) => share.most) ?? [];
      expect(of64).toBe(limit);
      expect(of56).toBeGreaterThan(of64);
      expect(of48).toBeGreaterThanOrEqual(of56 + of64);
    }),
  );
});
